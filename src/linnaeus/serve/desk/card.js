// The card of a node: its texts, its place, similar documents, and proposals for the owner of the vocabulary.
import { html, useEffect, useState } from "./html.js";
import { desk } from "./api.js";

const TITLES = { preferred: "Labels", alternative: "Also called", hidden: "Also written", definition: "Definition", notation: "Code", note: "Note", scope_note: "Scope", example: "Examples" };

export function Card({ model, node, nearest, onGo, coder, onMessage }) {
  const [state, setState] = useState({});
  useEffect(() => {
    if (!node) return undefined;
    let current = true;
    setState({});
    model.node(node.label).then((found) => current && setState({ found }), (error) => current && setState({ problem: error.message }));
    return () => (current = false);
  }, [node && node.label]);
  if (!node) return html`<p class="hint">Focus a node in the tree to see its card.</p>`;
  if (state.problem) return html`<p class="problem">${state.problem}</p>`;
  const { found } = state;
  if (!found) return html`<p class="hint">Loading…</p>`;
  const groups = new Map();
  for (const text of found.texts) groups.set(text.kind, [...(groups.get(text.kind) || []), text]);
  return html`<div class="card">
    <h3>${found.name}</h3>
    <p class="place">${found.label !== found.name && html`<code>${found.label}</code> `}depth ${found.depth}, ${found.children || "no"} below${found.answerable ? "" : "; the model never suggests it"}</p>
    ${found.parents.length > 0 && html`<p>Below ${found.parents.map((p, i) => html`${i > 0 && ", "}<button class="link" onClick=${() => onGo(p.label)}>${p.name}</button>`)}</p>`}
    <dl>${[...groups].map(([kind, texts]) => html`<dt>${TITLES[kind] || kind.replace(/_/g, " ")}</dt>
      ${texts.slice(0, 12).map((t) => html`<dd lang=${t.language || undefined}>${t.text}${t.language && groups.size && html` <span class="source">${t.language}</span>`}</dd>`)}`)}</dl>
    ${nearest && nearest.length > 0 && html`<h4>Similar coded documents</h4>
      <ul class="nearest">${nearest.map((n) => html`<li key=${n.id}><code>${n.id}</code> ${n.labels.join(", ")} <span class="source">similarity ${n.similarity.toFixed(2)}</span></li>`)}</ul>`}
    <${Propose} key=${node.label} node=${found} coder=${coder} onMessage=${onMessage} />
  </div>`;
}

const KINDS = { synonym: "another name for this node", "new-node": "a new node below this one", merge: "merge this node into another" };

function Propose({ node, coder, onMessage }) {
  const [kind, setKind] = useState("synonym");
  const [text, setText] = useState("");
  const send = async (event) => {
    event.preventDefault();
    if (!text.trim()) return;
    try {
      await desk.propose({ kind, node: node.label, text: text.trim(), coder });
      setText("");
      onMessage(`Proposed: ${KINDS[kind]}. All proposals are in the view Proposals.`);
    } catch (error) {
      onMessage(error.message, true);
    }
  };
  return html`<details class="propose"><summary>Propose a change to the vocabulary</summary>
    <form onSubmit=${send}>
      <label>Change <select value=${kind} onChange=${(e) => setKind(e.target.value)}>${Object.entries(KINDS).map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select></label>
      <label>${kind === "merge" ? "Other node" : "Name"} <input value=${text} onInput=${(e) => setText(e.target.value)} maxlength="500" /></label>
      <button>Propose</button>
    </form></details>`;
}
