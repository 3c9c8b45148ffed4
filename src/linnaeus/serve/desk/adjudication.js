// Documents on which coders disagree, with their answers side by side.
import { html, plural, useEffect, useState } from "./html.js";
import { desk } from "./api.js";
import { Document } from "./document.js";
import * as outbox from "./outbox.js";
import { Search } from "./search.js";

export function Adjudication({ model, coder, say, may }) {
  const [rows, setRows] = useState(null);
  const [problem, setProblem] = useState("");
  const [item, setItem] = useState(null);
  const [chosen, setChosen] = useState([]);
  const load = () => desk.documents({ state: "disagreement", limit: 200 }).then((a) => setRows(a.documents), (error) => setProblem(error.message));
  useEffect(() => {
    load();
  }, []);
  const first = rows && rows[0];
  useEffect(() => {
    if (!first) return setItem(null);
    setChosen([]);
    desk.document(first.id).then(setItem, (error) => setProblem(error.message));
    return undefined;
  }, [first && first.id]);
  const decide = (labels) => {
    outbox.put({ key: outbox.newKey(), document: first.id, coder, kind: "replace", labels, adjudication: true });
    say(`${first.id}: decided as ${labels.join(", ")}`);
    setRows(rows.slice(1));
  };
  return html`<main class="adjudication page" tabindex="-1" id="work">
    <header><h1>Disagreements</h1><p role="status">${rows ? (rows.length ? `${plural(rows.length, "document")} to decide` : "Coders agree on every document that several of them coded.") : "Loading"}</p></header>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${!may("reviewer") && html`<p class="hint">A reviewer decides; the role coder only looks.</p>`}
    ${item && html`<div class="sides">
      <section aria-label="Document ${first.id}"><h2><code>${first.id}</code></h2><${Document} item=${item.document} /></section>
      <section aria-label="Answers"><h2>Answers</h2>
        <ul class="answers">${latest(item.history).map(
          ([who, verdict]) => html`<li key=${who}><b>${who}</b> <span>${verdict.labels && verdict.labels.length ? verdict.labels.join(", ") : verdict.kind.replace("-", " ")}</span>
            ${verdict.note && html`<q>${verdict.note}</q>`}
            ${verdict.labels && verdict.labels.length > 0 && html`<button disabled=${!may("reviewer")} onClick=${() => decide(verdict.labels)}>This one is right</button>`}</li>`,
        )}</ul>
        <h2>Another answer</h2>
        <${Search} model=${model} id="decide" label="Search the taxonomy for another answer" onChoose=${(m) => setChosen([...new Set([...chosen, m.label])])} />
        <ul class="chips">${chosen.map((l) => html`<li key=${l}><span>${l}</span><button aria-label="Take ${l} back" onClick=${() => setChosen(chosen.filter((c) => c !== l))}>×</button></li>`)}</ul>
        <button disabled=${!chosen.length || !may("reviewer")} onClick=${() => decide(chosen)}>Decide with these</button>
      </section></div>`}
  </main>`;
}

// The verdict in force of each coder.
function latest(history) {
  const found = new Map();
  for (const verdict of history) {
    if (!verdict.counts) continue;
    if (verdict.labels || verdict.kind === "none-fits" || verdict.kind === "cannot-tell") found.set(verdict.coder, verdict);
  }
  return [...found];
}
