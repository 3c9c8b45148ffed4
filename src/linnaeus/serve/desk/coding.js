// The coding view: a document, suggestions in the tree, reasons, and a verdict.
import { count, duration, html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import * as ahead from "./ahead.js";
import { desk } from "./api.js";
import * as decisions from "./decision.js";
import { contentOf, Document } from "./document.js";
import { Card } from "./card.js";
import { keyOf } from "./forest.js";
import { History } from "./history.js";
import { pressing, typing } from "./keys.js";
import * as outbox from "./outbox.js";
import { Search } from "./search.js";
import { prepare, rankOf, scoreOf } from "./suggestions.js";
import { Tree } from "./tree.js";
import { Why } from "./why.js";

const AHEAD = 4; // documents held ready: the next one is there at once, also while the server is away
const PANELS = [["why", "Why"], ["card", "Node"], ["history", "History"]];

export function Coding({ model, coder, single, say, subtree, setSubtree, only, clearOnly }) {
  const [queue, setQueue] = useState([]);
  const [remaining, setRemaining] = useState(null);
  const [problem, setProblem] = useState("");
  const [empty, setEmpty] = useState(false);
  const [kept, setKept] = useState({ id: null, decision: null });
  const [done, setDone] = useState([]);
  const [undone, setUndone] = useState(null); // a stored document that was taken back, for redo
  const [active, setActive] = useState({ key: "", node: null });
  const [panel, setPanel] = useState("why");
  const [why, setWhy] = useState({});
  const [note, setNote] = useState(null);
  const [flagged, setFlagged] = useState(false);
  const [more, setMore] = useState(new Map()); // names and ancestors of labels that were not suggested
  const started = useRef(performance.now());
  const gone = useRef(new Set()); // decided here, though the server may not know it yet
  const skipped = useRef(new Set());
  const filling = useRef(null); // the call that is under way; another coder or subtree makes it void
  const tree = useRef({});
  const work = useRef(null);
  const pressed = useRef(null);
  const item = queue[0];
  // The decision belongs to its document: a key pressed before the next one is drawn cannot act on the one before.
  const decision = item && kept.id === item.id ? kept.decision : decisions.start(item ? item.suggested : []);
  const setDecision = (next) => setKept({ id: item.id, decision: next });

  const fill = useCallback(async function own() {
    if (filling.current === own) return;
    filling.current = own;
    try {
      // Documents that this coder holds come first, also those that are decided or skipped here.
      const limit = Math.min(50, AHEAD + skipped.current.size + outbox.waiting());
      const found = only ? { documents: [(await desk.document(only)).document], remaining: null } : await desk.next({ coder, subtree, limit });
      const undecided = found.documents.filter((d) => !gone.current.has(d.id));
      if (undecided.every((d) => skipped.current.has(d.id))) skipped.current.clear(); // it is later now
      const fresh = undecided.filter((d) => !skipped.current.has(d.id)).slice(0, AHEAD);
      for (const one of fresh) {
        const ready = await model.once(`item ${one.id} ${one.scored_by}`, () => prepare(model, one));
        if (filling.current !== own) return;
        const fits = (before) => !before.some((d) => d.id === ready.id) && !gone.current.has(ready.id) && !skipped.current.has(ready.id);
        setQueue((before) => (fits(before) ? [...before, ready] : before));
      }
      if (found.remaining != null) setRemaining(found.remaining);
      setEmpty(!fresh.length);
      setProblem("");
    } catch (error) {
      setProblem(error.message);
      if (error.away && !only) setQueue((before) => (before.length ? before : ahead.keptDocuments(coder, model.about.fingerprint).filter((d) => !gone.current.has(d.id) && !outbox.decides(d.id))));
    } finally {
      if (filling.current === own) filling.current = null;
    }
  }, [model, coder, subtree, only]);

  useEffect(() => {
    setQueue([]);
    setEmpty(false);
    if (only) gone.current.delete(only), skipped.current.delete(only);
    fill();
  }, [fill]);
  // Whoever leaves gives the documents back.
  useEffect(() => {
    const release = () => desk.release({ coder });
    addEventListener("pagehide", release);
    return () => (removeEventListener("pagehide", release), release());
  }, [coder]);
  useEffect(() => {
    if (queue.length <= AHEAD / 2 && !only) fill();
    if ((queue.length || done.length) && !only) ahead.keepDocuments(coder, model.about.fingerprint, queue.slice(0, 2 * AHEAD));
  }, [queue.length]);
  useEffect(() => {
    if (item || !problem) return undefined;
    const timer = setInterval(fill, 3000);
    return () => clearInterval(timer);
  }, [Boolean(item), problem, fill]);

  useLayoutEffect(() => {
    if (!item) return;
    const first = item.paths.find((p) => item.suggestions.length && p.at(-1).label === item.suggestions[0].label);
    setActive(first ? { key: keyOf(first.map((n) => n.label)), node: first.at(-1) } : { key: "", node: null });
    setNote(null);
    setFlagged(Boolean(item.flagged));
    started.current = performance.now();
    if (work.current && !document.querySelector("dialog[open]")) work.current.focus({ preventScroll: true });
  }, [item && item.id]);

  // Reasons for the focused node.
  const label = active.node && active.node.label;
  useEffect(() => {
    if (!item || !label || item.blind || !model.about.can.explain) {
      setWhy({ problem: item && item.blind ? "This document is coded without suggestions, to measure how much they influence people." : "" });
      return undefined;
    }
    let current = true;
    setWhy((before) => ({ ...before, loading: true, problem: "" }));
    const timer = setTimeout(() => {
      model.once(`why ${item.id} ${label}`, () => model.explain(contentOf(item, model.about.takes), label)).then(
        (steps) => current && setWhy({ step: steps.find((s) => s.node === label) }),
        (error) => current && setWhy({ problem: error.message }),
      );
    }, 60);
    return () => ((current = false), clearTimeout(timer));
  }, [item && item.id, label]);

  const nameOf = (l) => (item && item.names.get(l)) || (more.get(l) || {}).name || l;
  const above = (l) => (item && item.above.get(l)) || (more.get(l) || {}).above || [];
  const learn = async (node, path) => {
    let higher = path ? path.slice(0, -1) : [];
    if (!path) higher = (await model.paths(node.label).catch(() => [])).flatMap((p) => p.slice(0, -1).map((n) => n.label));
    setMore((before) => new Map(before).set(node.label, { name: node.name, above: higher }));
  };
  const choose = (node, path) => {
    learn(node, path);
    setDecision(decisions.toggle(decision, node.label, model.single));
  };

  const advance = () => {
    gone.current.add(item.id);
    setQueue((before) => before.filter((d) => d.id !== item.id));
    if (only) clearOnly();
  };
  const send = (kind, fields = {}) => {
    const key = outbox.newKey();
    const shown = item.blind ? null : item.suggestions.map(({ label, probability, score }) => ({ label, probability, score }));
    const seconds = Math.round((performance.now() - started.current) / 100) / 10;
    outbox.put({ key, document: item.id, coder, kind, shown, seconds, ...fields });
    return key;
  };
  const decide = (kind, labels) => {
    if (gone.current.has(item.id)) return;
    const rank = labels.length === 1 ? rankOf(item, labels[0]) || null : null;
    const key = send(kind, { labels: kind === "none-fits" || kind === "cannot-tell" ? null : labels, rank, note: note || null });
    const seconds = (performance.now() - started.current) / 1000;
    setDone((before) => [...before.slice(-199), { item, decision, key, kind, labels, seconds }]);
    setUndone(null);
    setRemaining((n) => (n == null ? n : Math.max(0, n - 1)));
    say(`${item.id}: ${kind.replace("-", " ")}${labels.length ? ` ${labels.map(nameOf).join(", ")}` : ""}`);
    advance();
  };
  const store = () => {
    if (!decision.labels.length) return say("Choose a label first, or press n (none fits) or c (cannot tell).", true);
    const kind = item.suggested.length ? decisions.kindOf(decision, above) : "add";
    return decide(kind, decision.labels);
  };
  const undo = () => {
    if (decision.past.length) return setDecision(decisions.undo(decision));
    const last = done.at(-1);
    if (!last) return say("There is nothing to undo.");
    outbox.put({ key: outbox.newKey(), document: last.item.id, coder, kind: "undo", undoes: last.key });
    gone.current.delete(last.item.id);
    setUndone(last);
    setDone(done.slice(0, -1));
    setRemaining((n) => (n == null ? n : n + 1));
    setKept({ id: last.item.id, decision: { ...last.decision, future: [] } });
    setQueue((before) => [last.item, ...before.filter((d) => d.id !== last.item.id)]);
    return say(`Took back ${last.item.id}.`);
  };
  const redo = () => {
    if (decision.future.length) return setDecision(decisions.redo(decision));
    if (undone && item && undone.item.id === item.id) return decide(undone.kind, undone.labels);
    return say("There is nothing to redo.");
  };
  const backOff = () => {
    const target = decision.labels.includes(label) ? label : decision.labels.length === 1 ? decision.labels[0] : null;
    if (!target) return say("Focus one of the chosen labels first.");
    const parent = active.node && target === label && active.key.includes("\u001f") ? active.key.split("\u001f").at(-2) : above(target).at(-1);
    if (!parent) return say(`${nameOf(target)} is at the top already.`);
    const known = item.names.has(parent) ? null : { name: parent, above: above(target).slice(0, -1) };
    if (known) setMore((before) => new Map(before).set(parent, known));
    setDecision(decisions.backOff(decision, target, parent));
    tree.current.show(parent);
    return say(`${nameOf(target)} gives way to ${nameOf(parent)}.`);
  };
  const flag = () => {
    setFlagged(true);
    send("flag");
    say(`${item.id} is flagged.`);
  };
  const focus = (id) => {
    const element = document.getElementById(id);
    if (element) element.focus();
  };
  const goTo = async (wanted) => {
    if (tree.current.show(wanted)) return;
    const [path] = await model.paths(wanted).catch(() => []);
    if (path) tree.current.reveal(path.map((n) => n.label));
  };
  const skip = () => {
    skipped.current.add(item.id);
    setQueue((before) => before.filter((d) => d.id !== item.id));
    say(`${item.id} comes later.`);
    if (only) clearOnly();
  };
  const actions = {
    Enter: store,
    n: () => decide("none-fits", []),
    c: () => decide("cannot-tell", []),
    x: () => label && setDecision(decisions.reject(decision, label)),
    b: backOff,
    Delete: () => setDecision(decisions.clear(decision)),
    m: () => (setNote(note || ""), setTimeout(() => focus("note"))),
    f: flag,
    u: undo,
    r: redo,
    j: skip,
    "/": () => focus("search"),
    t: () => focus("tree"),
    d: () => focus("document"),
    s: () => (tree.current.siblings(), focus("tree")),
    w: () => setPanel("why"),
    i: () => setPanel("card"),
    h: () => setPanel("history"),
    Escape: () => work.current.focus(),
  };
  pressed.current = (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !typing(event) && (event.key === "z" || event.key === "y")) {
      event.preventDefault();
      return void (event.key === "z" ? undo() : redo());
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return void (event.preventDefault(), work.current && work.current.focus());
    if (typing(event) || (pressing(event) && (event.key === "Enter" || event.key === " "))) return;
    if (!single && event.key.length === 1) return;
    if (event.repeat && event.key === "Enter") return; // a key held down is one decision
    if (!item) {
      if (event.key === "u") undo();
      return;
    }
    if (/^[1-9]$/.test(event.key)) {
      const s = item.suggestions[event.key - 1];
      if (!s) return;
      event.preventDefault();
      choose({ label: s.label, name: nameOf(s.label) }, null);
      tree.current.show(s.label);
    } else if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  };
  useEffect(() => {
    const press = (event) => pressed.current(event);
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);

  if (!item) return html`<main class="coding empty" ref=${work} tabindex="-1" id="work">
    <h1>${problem ? "Waiting for the server" : empty ? "Nothing left to code" : "Loading documents"}</h1>
    <p role="status">${problem || (empty ? (subtree ? html`No open document below ${subtree}. <button onClick=${() => setSubtree("")}>All documents</button>` : "Every document of the queue has a verdict. The figures are in the view Progress.") : "")}</p>
    ${done.length > 0 && html`<button onClick=${undo}>Undo the last verdict</button>`}
  </main>`;

  const times = done.slice(-30).map((d) => d.seconds).sort((a, b) => a - b);
  const each = times.length > 2 ? times[times.length >> 1] : null;
  const terms = why.step && !item.blind ? why.step.contributions : undefined;
  const button = (key, text, title, extra = "") => html`<button class=${extra} title=${title} onClick=${() => (actions[key](), work.current && work.current.focus({ preventScroll: true }))}>${text} <kbd aria-hidden="true">${key === "Delete" ? "Del" : key}</kbd></button>`;
  return html`<main class="coding" id="work" ref=${work} tabindex="-1" aria-label="Coding">
    <h1 class="hidden">Code documents</h1>
    <section class="pane left" id="document" tabindex="0" aria-label="Document ${item.id}">
      <header><h2><code>${item.id}</code></h2>
        ${item.blind && html`<span class="badge" title="Coded without suggestions.">blind</span>`}
        ${item.double && html`<span class="badge" title="Coded by two people.">double</span>`}
        ${flagged && html`<span class="badge warn">flagged</span>`}
        <span class="position">${[done.length && `${count(done.length)} done`, remaining != null && `${count(remaining)} left`, each != null && remaining && `about ${duration(each * remaining)}`].filter(Boolean).join(", ")}</span></header>
      ${item.memory && html`<p class="memory">${item.memory.similarity === 1 ? "The same text" : "A similar text"} was coded by ${item.memory.coder} (<code>${item.memory.document}</code>): ${item.memory.labels.map(nameOf).join(", ") || "no label"}</p>`}
      <${Document} item=${item} terms=${terms} />
      ${!done.length && single && html`<p class="hint first"><kbd>Enter</kbd> stores the labels shown and brings the next document. <kbd>1</kbd> to <kbd>9</kbd> choose a suggestion, <kbd>/</kbd> searches a label, <kbd>?</kbd> lists all keys.</p>`}
    </section>
    <section class="pane middle" aria-label="Labels and taxonomy">
      <div class="chosen-box"><h2 id="chosen-title">Enter stores</h2>
        <ul class="chips" aria-labelledby="chosen-title">${decision.labels.map(
          (l) => html`<li key=${l} class=${item.suggested.includes(l) ? "" : "own"}><span>${nameOf(l)}</span><button aria-label="Take ${nameOf(l)} back" onClick=${() => (setDecision(decisions.toggle(decision, l, model.single)), work.current.focus())}>×</button></li>`,
        )}${!decision.labels.length && html`<li class="none">${item.blind ? "no label yet; this document is coded without suggestions" : "no label yet"}</li>`}</ul></div>
      <${Search} model=${model} onChoose=${(match) => (choose(match, null), work.current.focus(), goTo(match.label))} onLeave=${() => work.current.focus()} />
      <${Tree} model=${model} item=${item} labels=${decision.labels} rejected=${decision.rejected} active=${active.key} shared=${tree}
        onActive=${(key, node) => setActive({ key, node })} onToggle=${choose} scoreOf=${(l) => scoreOf(item, l)} rankOf=${(l) => rankOf(item, l)} />
      ${note != null && html`<p class="note"><label for="note">Note</label><textarea id="note" rows="2" value=${note} maxlength="5000" onInput=${(e) => setNote(e.target.value)}
        onKeyDown=${(e) => e.key === "Escape" && (e.stopPropagation(), work.current.focus())}></textarea></p>`}
      <div class="actions" role="toolbar" aria-label="Verdict">
        ${button("Enter", "Store", "Store the labels shown, then the next document", "primary")}
        ${button("n", "None fits", "No node of the taxonomy fits")}${button("c", "Cannot tell", "The document does not say")}
        ${button("x", "Reject", "Reject the focused node")}${button("b", "Back off", "Give way to the parent")}
        ${button("m", "Note", "Write a note")}${button("f", "Flag", "Flag for discussion")}${button("u", "Undo", "Undo")}${button("r", "Redo", "Redo")}${button("j", "Later", "Skip")}
      </div>
    </section>
    <section class="pane right" aria-label="Reasons">
      <div role="tablist" aria-label="Panels">${PANELS.map(
        ([id, name]) => html`<button key=${id} role="tab" id="tab-${id}" aria-selected=${panel === id} aria-controls="panel" tabindex=${panel === id ? 0 : -1} onClick=${() => setPanel(id)}
          onKeyDown=${(e) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
            if (!step) return;
            const next = PANELS[(PANELS.findIndex((p) => p[0] === id) + step + PANELS.length) % PANELS.length][0];
            setPanel(next);
            document.getElementById(`tab-${next}`).focus();
          }}>${name}</button>`,
      )}</div>
      <div id="panel" role="tabpanel" aria-labelledby="tab-${panel}" tabindex="0">
        ${panel === "why" && html`<${Why} state=${why} node=${active.node} />`}
        ${panel === "card" && html`<${Card} model=${model} node=${active.node} nearest=${why.step && why.step.nearest} onGo=${goTo} coder=${coder} onMessage=${say} />`}
        ${panel === "history" && html`<${History} id=${item.id} local=${done} />`}
      </div>
    </section>
  </main>`;
}
