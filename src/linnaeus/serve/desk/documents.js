// All documents of the queue with their states and labels.
import { count, html, useEffect, useRef, useState } from "./html.js";
import { desk } from "./api.js";
import { Virtual } from "./virtual.js";

const PAGE = 200;
const STATES = { "": "all", open: "open", partly: "waiting for a second coder", done: "done", disagreement: "disagreement", unsure: "cannot tell" };

export function Documents({ model }) {
  const [state, setState] = useState("");
  const [found, setFound] = useState({ total: 0, rows: [], next: 0 });
  const [at, setAt] = useState(0);
  const [problem, setProblem] = useState("");
  const loading = useRef(false);
  const load = async (offset, before) => {
    if (loading.current) return;
    loading.current = true;
    try {
      const page = await desk.documents({ state, offset, limit: PAGE });
      setFound({ total: page.total, rows: [...before, ...page.documents], next: page.next_offset });
      setProblem("");
    } catch (error) {
      setProblem(error.message);
    } finally {
      loading.current = false;
    }
  };
  useEffect(() => {
    setAt(0);
    setFound({ total: 0, rows: [], next: 0 });
    load(0, []);
  }, [state]);
  const near = () => found.next != null && load(found.next, found.rows);
  const open = (row) => (location.hash = `code=${encodeURIComponent(row.id)}`);
  const keys = (event) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: found.rows.length - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      const next = Math.max(0, Math.min(found.rows.length - 1, to));
      setAt(next);
      if (next > found.rows.length - 30) near();
    } else if (event.key === "Enter" && found.rows[at]) open(found.rows[at]);
  };
  return html`<main class="documents page" tabindex="-1" id="work">
    <header><h1>Documents</h1>
      <label>State <select value=${state} onChange=${(e) => setState(e.target.value)}>${Object.entries(STATES).map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>
      <p role="status">${count(found.total)} found</p></header>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <${Virtual} rows=${found.rows} active=${at} height=${2.4} class="rows" role="listbox" tabindex="0" aria-label="Documents"
      aria-activedescendant=${found.rows.length ? `document-${at}` : undefined} onKeyDown=${keys} onScroll=${(e) => e.target.scrollTop + 3 * e.target.clientHeight > e.target.scrollHeight && near()}
      render=${(row, i, style) => html`<div key=${row.id} id="document-${i}" style=${style} role="option" aria-selected=${i === at} class="line ${i === at ? "active" : ""}" onClick=${() => setAt(i)} onDblClick=${() => open(row)}>
        <code>${row.id}</code> <span class="state ${row.state}">${row.state}</span>${row.flagged && html` <span class="badge warn">flagged</span>`}
        <span class="labels">${(row.labels || []).join(", ")}</span> <span class="preview">${row.preview || (row.labels ? "" : (row.answer || []).join(", "))}</span></div>`} />
    <p class="hint">Arrows move, Enter or a double click opens a document for another verdict.</p>
  </main>`;
}
