// Drift: inputs and answers of the last weeks beside the training documents, or beside earlier documents of the queue.
import { count, html, percent, plural, useEffect, useState } from "./html.js";
import { desk } from "./api.js";

const REFERENCES = { training: "training documents", earlier: "earlier documents" };
const signed = (p, digits = 1) => `${p < 0 ? "−" : "+"}${percent(Math.abs(p), digits)}`;

export function Drift() {
  const [weeks, setWeeks] = useState(4);
  const [against, setAgainst] = useState("");
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let current = true;
    desk.drift({ weeks, against }).then(
      (a) => current && (setFound(a), setProblem("")),
      (error) => {
        if (!current) return;
        if (against) setAgainst(""); // fewer weeks may leave nothing to compare with
        else setProblem(error.message);
      },
    );
    return () => (current = false);
  }, [weeks, against]);
  return html`<section class="tile drift"><h2>Drift</h2>
    ${problem && html`<p class="problem">${problem}</p>`}
    <p class="choices"><label>The last <select value=${weeks} onChange=${(e) => setWeeks(Number(e.target.value))}>${[1, 2, 4, 8, 13, 26].map((n) => html`<option value=${n}>${plural(n, "week")}</option>`)}</select></label>
      ${found && found.possible.length > 1
        ? html`<label>beside <select value=${found.against} onChange=${(e) => setAgainst(e.target.value)}>${found.possible.map((id) => html`<option value=${id}>${REFERENCES[id]}</option>`)}</select></label>`
        : found && found.against && html`<span>beside ${REFERENCES[found.against]}</span>`}</p>
    ${!found && !problem && html`<p class="hint">Computing</p>`}
    ${found && html`<${Figures} found=${found} />`}
  </section>`;
}

function Figures({ found }) {
  const { answers, unknown_words: unknown, nearest_training: nearest } = found;
  return html`<p class="hint">${plural(found.documents, "document")} of the last ${plural(found.weeks, "week")}${found.against ? `, ${count(found.reference_documents)} ${REFERENCES[found.against]}` : "; nothing to compare with yet: keep the training documents with the model, or wait for older documents"}. Weeks are counted from the newest document.</p>
    <table><thead><tr><th>inputs and answers</th><th class="number">now</th><th class="number">before</th><th class="number">change</th></tr></thead><tbody>
      ${unknown && html`<${Change} name="unknown words" value=${unknown} />`}
      ${nearest && html`<${Change} name="similarity to the nearest training document" value=${nearest} />`}
    </tbody></table>
    ${answers && html`<p>Answers differ by <b data-distance=${answers.distance}>${percent(answers.distance, 1)}</b>; chance alone stays below ${percent(answers.chance, 1)} in 95 of 100 cases (p ${answers.p_value < 0.005 ? "< 0.01" : `= ${answers.p_value.toFixed(2)}`}).</p>`}
    <${Weeks} weeks=${found.over_time} />
    ${found.new_words.length > 0 && html`<p>New words: ${found.new_words.map((w) => `${w.word} (${w.documents})`).join(", ")}</p>`}
    ${["gaining", "losing"].map((kind) => found[kind].length > 0 && html`<table key=${kind}><thead><tr><th>nodes ${kind === "gaining" ? "that gain" : "that lose"}</th><th class="number">before</th><th class="number">now</th><th class="number">change, 90% interval</th></tr></thead>
      <tbody>${found[kind].map((n) => html`<tr key=${n.node}><th scope="row">${n.name}</th><td class="number">${percent(n.before, 1)}</td><td class="number">${percent(n.now, 1)}</td><td class="number">${signed(n.low)} to ${signed(n.high)}</td></tr>`)}</tbody></table>`)}
    ${answers && !found.gaining.length && !found.losing.length && html`<p class="hint">No node gains or loses more than chance explains.</p>`}`;
}

function Change({ name, value }) {
  return html`<tr><th scope="row">${name}</th><td class="number">${percent(value.now, 1)}</td><td class="number">${percent(value.before, 1)}</td>
    <td class="number">${value.difference == null ? "–" : `${signed(value.low)} to ${signed(value.high)}`}</td></tr>`;
}

// Unknown words and distance of answers by week.
function Weeks({ weeks }) {
  if (weeks.length < 2) return null;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Drift by week"><table><thead><tr><th>weeks before</th><th class="number">documents</th><th class="number">unknown words</th><th class="number">answers</th><th class="number">chance</th></tr></thead>
    <tbody>${weeks.map((w) => html`<tr key=${w.weeks_ago}><th scope="row">${w.weeks_ago}</th><td class="number">${count(w.documents)}</td>
      <td class="number">${percent(w.unknown_words, 1)}</td><td class="number">${w.answers ? percent(w.answers.distance, 1) : "–"}</td><td class="number">${w.answers ? percent(w.answers.chance, 1) : "–"}</td></tr>`)}</tbody></table></div>`;
}
