// Proposals for the vocabulary, collected as a change file for its owner.
import { html, useEffect, useState } from "./html.js";
import { desk, download } from "./api.js";

export function Proposals() {
  const [rows, setRows] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    desk.proposals().then((a) => setRows(a.proposals), (error) => setProblem(error.message));
  }, []);
  return html`<main class="proposals page" tabindex="-1" id="work">
    <header><h1>Proposals</h1></header>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <p>New nodes, synonyms and merges that coders propose on the card of a node. The taxonomy stays as it is; its owner decides.</p>
    ${rows && !rows.length && html`<p class="hint">No proposal yet. Focus a node while coding and press <kbd>i</kbd>.</p>`}
    ${rows && rows.length > 0 && html`<p><button onClick=${() => download("desk/proposals/file", "proposals.jsonl").catch((error) => setProblem(error.message))}>Download the change file</button></p>
      <div class="scroll" tabindex="0" role="region" aria-label="Table of proposals"><table><thead><tr><th>change</th><th>node</th><th>text</th><th>coder</th><th>time</th></tr></thead>
      <tbody>${rows.map((p) => html`<tr key=${p.number}><td>${p.kind.replace("-", " ")}</td><td>${p.name}</td><td>${p.text}</td><td>${p.coder}</td><td>${p.at.slice(0, 16).replace("T", " ")}</td></tr>`)}</tbody></table></div>`}
  </main>`;
}
