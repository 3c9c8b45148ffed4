// Figures: how far the queue is, how good the model is on control documents, how coders agree, what the machine may code.
import { count, duration, html, percent, plural, useEffect, useRef, useState } from "./html.js";
import { desk } from "./api.js";
import { Assigning } from "./assigning.js";
import { Drift } from "./drift.js";
import * as outbox from "./outbox.js";
import { Pictures } from "./pictures.js";
import { Search } from "./search.js";
import { Transfer } from "./transfer.js";
import { Versions } from "./versions.js";

export function Progress({ model, coder, say, subtree, setSubtree, onModel, may }) {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState("");
  const load = () => desk.progress().then((a) => (setFound(a), setProblem("")), (error) => setProblem(error.message));
  useEffect(() => {
    load();
    const timer = setInterval(load, 10000);
    return () => clearInterval(timer);
  }, []);
  return html`<main class="progress page" tabindex="-1" id="work">
    <header><h1>Progress</h1></header>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div class="tiles">${found && html`<${Figures} found=${found} />`}
    <section class="tile"><h2>Queue</h2>
      <p>${subtree ? html`Only documents whose suggestions lie below <b>${subtree}</b>. <button onClick=${() => setSubtree("")}>All documents</button>` : "All documents: in random order while the model knows little, then the most useful first."}</p>
      <${Search} model=${model} id="subtree" label="Code only a subtree" placeholder="only a subtree: label or code" onChoose=${(m) => (setSubtree(m.label), say(`The queue is limited to ${m.name}.`))} /></section>
    <${Promised} model=${model} coder=${coder} say=${say} onChange=${load} may=${may("reviewer")} />
    ${may("reviewer") && html`<${Assigning} coder=${coder} say=${say} />`}
    ${may("reviewer") && html`<${Transfer} coder=${coder} say=${say} onChange=${load} />`}
    <${Drift} />
    <${Versions} model=${model} coder=${coder} say=${say} onModel=${onModel} may=${may("admin")} />
    <${Training} say=${say} onModel=${onModel} may=${may("admin")} />
    <${Pictures} /></div>
  </main>`;
}

function Bar({ share, label }) {
  return html`<div class="meter" role="img" aria-label="${label}: ${percent(share)}"><span style=${{ width: percent(share, 1) }}></span></div>`;
}

const NAMES = { open: "open", partly: "waiting for a second coder", done: "done", disagreement: "disagreement", unsure: "cannot tell" };

function Figures({ found }) {
  const { states, documents: total, control, blind } = found;
  const left = (states.open || 0) + (states.partly || 0);
  const ranks = Object.entries(found.accepted_ranks).slice(0, 9);
  return html`<section class="tile"><h2>Documents</h2>
      <p class="big">${count(total - left)} of ${count(total)}</p><${Bar} share=${total ? (total - left) / total : 0} label="Share of documents with a verdict" />
      <p>${count(left)} left${found.seconds_left != null ? `, about ${duration(found.seconds_left)} at ${duration(found.median_seconds)} each` : ""}</p>
      <table><tbody>${Object.entries(states).map(([state, n]) => html`<tr key=${state}><th scope="row">${NAMES[state] || state}</th><td class="number">${count(n)}</td></tr>`)}
        <tr><th scope="row">flagged</th><td class="number">${count(found.flagged)}</td></tr></tbody></table></section>
    <section class="tile"><h2>The model on control documents</h2>
      ${control.n ? html`<p class="big">${percent(control.accuracy)} right</p><p>90% interval ${percent(control.low)} to ${percent(control.high)}, ${plural(control.n, "random document")}</p>
        <${Curve} blocks=${found.control_over_time} />` : html`<p>No control document has a verdict yet. They are a random sample: ${plural(found.shares.control || 0, "document")} of the queue.</p>`}
      ${blind.n > 0 && html`<p>Without suggestions shown: ${percent(blind.accuracy)} of ${blind.n} (${percent(blind.low)} to ${percent(blind.high)})</p>`}</section>
    <section class="tile"><h2>Coders</h2>
      <table><thead><tr><th>coder</th><th class="number">decided</th><th class="number">median time</th></tr></thead>
        <tbody>${found.coders.map((c) => html`<tr key=${c.coder}><th scope="row">${c.coder}</th><td class="number">${count(c.decided)}</td><td class="number">${duration(c.median_seconds)}</td></tr>`)}</tbody></table>
      ${!found.coders.length && html`<p class="hint">Nobody has decided a document yet.</p>`}
      ${ranks.length > 0 && html`<p class="hint">Rank of the accepted suggestion: ${ranks.map(([rank, n]) => `${rank}: ${n}`).join(", ")}</p>`}</section>
    ${found.agreement.length > 0 && html`<section class="tile"><h2>Agreement</h2>
      <table><thead><tr><th>coders</th><th class="number">documents</th><th class="number">same</th><th class="number">kappa</th><th class="number">hierarchical</th></tr></thead>
        <tbody>${found.agreement.map((a) => html`<tr key=${`${a.first} ${a.second}`}><th scope="row">${a.first}, ${a.second}</th><td class="number">${a.documents}</td><td class="number">${a.same}</td>
          <td class="number">${a.kappa_nodes == null ? "–" : a.kappa_nodes.toFixed(2)}</td><td class="number">${a.kappa_hierarchical == null ? "–" : a.kappa_hierarchical.toFixed(2)}</td></tr>`)}</tbody></table></section>`}
    ${found.unclear_nodes.length > 0 && html`<section class="tile"><h2>Where coders disagree</h2>
      <table><thead><tr><th>node</th><th class="number">one coder</th><th class="number">both</th><th class="number">kappa</th><th>instead</th></tr></thead>
        <tbody>${found.unclear_nodes.map((n) => html`<tr key=${n.node}><th scope="row">${n.name}</th><td class="number">${count(n.one)}</td><td class="number">${count(n.both)}</td><td class="number">${n.kappa == null ? "–" : n.kappa.toFixed(2)}</td><td>${n.instead || "–"}</td></tr>`)}</tbody></table>
      <p class="hint">Documents for which one coder, or both, used the node or one below it; what the other coder chose instead. The guideline may be unclear there.</p></section>`}`;
}

// Accuracy of blocks of control documents over time, with intervals.
function Curve({ blocks }) {
  if (!blocks || blocks.length < 2) return null;
  const x = (i) => 24 + (i * 270) / (blocks.length - 1);
  const y = (p) => 6 + 78 * (1 - p);
  const points = (key) => blocks.map((b, i) => [x(i), y(b[key])]);
  const band = [...points("high"), ...points("low").reverse()].map((p) => p.join(",")).join(" ");
  const last = blocks.at(-1);
  return html`<svg class="chart" viewBox="0 0 300 96" role="img" aria-label="Accuracy over time, last block ${percent(last.accuracy)}">
    <line class="axis" x1="24" x2="296" y1="84" y2="84" /><text x="0" y="12">100%</text><text x="6" y="88">0%</text>
    <polygon class="band" points=${band} /><polyline class="curve" points=${points("accuracy").map((p) => p.join(",")).join(" ")} /></svg>`;
}

const LISTED = 50; // documents of the preview

function Promised({ model, coder, say, onChange, may }) {
  const [risk, setRisk] = useState(0.05);
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [again, setAgain] = useState(0);
  const [below, setBelow] = useState(null); // a node
  const [list, setList] = useState(false);
  const subtree = below ? below.label : null;
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => desk.automatic({ risk, subtree, preview: list ? LISTED : 0 }).then((a) => current && (setFound(a), setProblem("")), (error) => current && (setFound(null), setProblem(error.message))), 150);
    return () => ((current = false), clearTimeout(timer));
  }, [risk, again, subtree, list]);
  const act = async (work, message) => {
    setBusy(true);
    try {
      say(message(await work()));
      onChange();
    } catch (error) {
      say(error.message, true);
    } finally {
      setBusy(false);
      setAgain(again + 1);
    }
  };
  const code = () => act(() => desk.codeAutomatically({ risk, coder, subtree, key: outbox.newKey() }), (a) => `${plural(a.coded, "document")} coded by the model.`);
  const undo = (batch) => act(() => desk.undoAutomatic({ batch, coder }), (a) => `${plural(a.undone, "document")} taken back.`);
  return html`<section class="tile promise"><h2>Let the machine code at a promised risk</h2>
    <div class="slider"><label for="risk">At most <b>${percent(risk, 1)}</b> wrong</label>
      <input id="risk" type="range" min="0.005" max="0.3" step="0.005" value=${risk} onInput=${(e) => setRisk(Number(e.target.value))} /></div>
    <p class="choices">${below ? html`<span>Only below <b>${below.name}</b></span> <button onClick=${() => setBelow(null)}>All documents</button>` : "All remaining documents"}</p>
    <${Search} model=${model} id="promise-subtree" label="Only a subtree" placeholder="only a subtree: label or code" onChoose=${setBelow} />
    ${problem && html`<p class="problem">${problem}</p>`}
    ${found && html`<p><span class="big" data-coded=${found.coded} data-remaining=${found.remaining}>${count(found.coded)}</span> of ${count(found.remaining)} remaining documents would be coded by the model, <span data-left=${found.left}>${count(found.left)}</span> are left for people${found.coverage == null ? "" : ` (${percent(found.coverage)} coded)`}.</p>
      <${Bar} share=${found.coverage || 0} label="Share of the remaining documents that the model would code" />
      <p class="hint">${found.promise}</p>
      ${!found.coded && found.remaining > 0 && html`<p class="hint none">Nothing can be promised at this risk. A larger risk may allow answers, and so may more control documents.</p>`}
      ${found.coded > 0 && html`<p><button aria-expanded=${list} onClick=${() => setList(!list)}>${list ? "Hide the list" : "Show what would be coded"}</button></p>`}
      ${list && found.documents.length > 0 && html`<div class="scroll would-code" tabindex="0" role="region" aria-label="Documents that would be coded"><table><thead><tr><th>document</th><th>labels</th><th>text</th></tr></thead>
        <tbody>${found.documents.map((d) => html`<tr key=${d.id}><th scope="row"><a href="#code=${encodeURIComponent(d.id)}"><code>${d.id}</code></a></th><td>${d.names.join(", ")}</td><td>${d.preview}</td></tr>`)}</tbody></table>
        ${found.coded > found.documents.length && html`<p class="hint">and ${count(found.coded - found.documents.length)} more</p>`}</div>`}
      <button disabled=${busy || !may || !found.coded} onClick=${code}>${busy ? "Working…" : `Code ${plural(found.coded, "document")}`}</button>
      ${found.batches.length > 0 && html`<table><thead><tr><th>coded by the model</th><th class="number">risk</th><th></th></tr></thead><tbody>${found.batches.map(
        (b) => html`<tr key=${b.batch}><td>${plural(b.coded, "document")} for ${b.coder}</td><td class="number">${percent(b.risk, 1)}</td><td>${b.undone ? "taken back" : html`<button disabled=${busy || !may} onClick=${() => undo(b.batch)}>Take back</button>`}</td></tr>`,
      )}</tbody></table>`}`}
  </section>`;
}

function Training({ say, onModel, may }) {
  const [found, setFound] = useState(null);
  const [again, setAgain] = useState(0);
  const running = found && found.state === "running";
  useEffect(() => {
    let current = true;
    const look = () => desk.training().then((a) => current && setFound(a), () => {});
    look();
    const timer = setInterval(look, running ? 1000 : 10000);
    return () => ((current = false), clearInterval(timer));
  }, [running, again]);
  const trained = useRef(false);
  useEffect(() => {
    if (trained.current && !running) onModel(); // the model that was trained runs now
    trained.current = Boolean(running);
  }, [Boolean(running)]);
  if (!found || !found.possible) return null;
  const start = () => desk.train().then(() => setAgain(again + 1), (error) => say(error.message, true));
  return html`<section class="tile"><h2>Train a model</h2>
    <p>${found.about}</p>
    ${running && html`<p role="status">${found.step}, ${duration(found.seconds)}</p><progress aria-label="Training" max="1" value=${found.share ?? undefined}></progress>`}
    ${found.detail && html`<p class=${found.state === "failed" ? "problem" : ""}>${found.detail}</p>`}
    <button disabled=${running || !may || found.documents < found.needed} onClick=${start}>Train with ${plural(found.documents, "coded document")}</button>
    ${found.documents < found.needed && html`<p class="hint">${plural(found.needed - found.documents, "more verdict")} with labels needed.</p>`}
    ${found.curve.length > 1 && html`<table><caption class="hidden">Learning curve</caption><thead><tr><th class="number">documents</th><th class="number">F1 on held-out documents</th></tr></thead>
      <tbody>${found.curve.map((c) => html`<tr key=${c.documents}><td class="number">${count(c.documents)}</td><td class="number">${percent(c.score, 1)}</td></tr>`)}</tbody></table>`}
  </section>`;
}
