// The verdicts about a document, oldest first.
import { html, useEffect, useState } from "./html.js";
import { desk } from "./api.js";

export function History({ id, local = [] }) {
  const [state, setState] = useState({});
  useEffect(() => {
    let current = true;
    setState({});
    desk.document(id).then((a) => current && setState({ verdicts: a.history }), (error) => current && setState({ problem: error.message }));
    return () => (current = false);
  }, [id]);
  const { verdicts, problem } = state;
  return html`<div class="history">
    <h3>This document</h3>
    ${problem && html`<p class="problem">${problem}</p>`}
    ${verdicts && !verdicts.length && html`<p class="hint">No verdict yet.</p>`}
    <ol>${(verdicts || []).map((v) => html`<li key=${v.key} class=${!v.counts ? "undone" : ""}><b>${v.coder}</b> ${v.kind.replace("-", " ")} ${(v.labels || []).join(", ")}${v.note && html` <q>${v.note}</q>`}</li>`)}</ol>
    ${local.length > 0 && html`<h3>Stored on this page</h3>
      <ol reversed>${local.slice(-15).reverse().map((d) => html`<li key=${d.key}><code>${d.item.id}</code> ${d.kind.replace("-", " ")} ${d.labels.join(", ")}</li>`)}</ol>`}
  </div>`;
}
