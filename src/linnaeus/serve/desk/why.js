// Why a node is suggested: the words that count for and against it, beside the runner-up, and their exact sum.
import { html, percent } from "./html.js";

const signed = (x) => (x >= 0 ? `+${x.toFixed(3)}` : `−${Math.abs(x).toFixed(3)}`);

function Terms({ of, title, total, totalName }) {
  const most = Math.max(1e-9, ...of.contributions.map(([, value]) => Math.abs(value)));
  return html`<table class="terms"><caption>${title}</caption>
    <thead class="hidden"><tr><th>term</th><th>contribution</th></tr></thead>
    <tbody>
      ${of.contributions.map(
        ([term, value], i) => html`<tr key=${term} class=${value > 0 ? "for" : "against"}>
          <th scope="row">${term}${of.sources && of.sources[i] !== "word" && html` <span class="source">${of.sources[i]}</span>`}</th>
          <td><span class="bar" aria-hidden="true"><span style=${{ width: percent(Math.abs(value) / most) }}></span></span>${signed(value)}</td></tr>`,
      )}
      <tr><th scope="row">other terms</th><td>${signed(of.others)}</td></tr>
      <tr><th scope="row">constant</th><td>${signed(of.constant)}</td></tr>
    </tbody>
    <tfoot><tr><th scope="row">${totalName}</th><td>${signed(total)}</td></tr></tfoot>
  </table>`;
}

export function Why({ state, node }) {
  if (!node) return html`<p class="hint">Focus a node in the tree to see what counts for and against it.</p>`;
  if (state.problem) return html`<p class="problem">${state.problem}</p>`;
  if (state.loading) return html`<p class="hint">Explaining…</p>`;
  const step = state.step;
  if (!step) return html`<p class="hint">The model has no explanation for ${node.name}.</p>`;
  return html`<div class="why">
    ${step.evidence && html`<ul class="evidence">${step.evidence.map((line) => html`<li>${line}</li>`)}</ul>`}
    <div class="beside">
      <${Terms} of=${step} title=${`Score of ${step.display}`} total=${step.score} totalName="score" />
      ${step.against && html`<${Terms} of=${step.against} title=${`Compared with ${step.against.display}`} total=${step.against.margin} totalName="ahead by" />`}
    </div>
    <p class="hint">${step.approximate ? "Contributions are approximate for this model." : "The rows add up to the score exactly."}</p>
  </div>`;
}
