// The search box: nodes by label, alternative label or code, while typing (ARIA combobox pattern).
import { html, useEffect, useRef, useState } from "./html.js";

export function Search({ model, onChoose, onLeave, label = "Search the taxonomy", id = "search", placeholder = "label, synonym or code" }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  const [at, setAt] = useState(0);
  const [problem, setProblem] = useState("");
  const state = useRef({ controller: null, answered: "", enter: false });
  const input = useRef(null);

  useEffect(() => {
    const wanted = text.trim();
    const own = state.current;
    if (own.controller) own.controller.abort();
    if (!wanted) {
      setFound([]);
      return undefined;
    }
    const controller = (own.controller = new AbortController());
    const timer = setTimeout(async () => {
      try {
        const matches = await model.search(wanted, controller.signal);
        if (controller.signal.aborted) return;
        own.answered = wanted;
        setFound(matches);
        setAt(0);
        setProblem(matches.length ? "" : "No node is called that.");
        if (own.enter && matches.length) choose(matches[0]);
        own.enter = false;
      } catch (error) {
        if (!controller.signal.aborted) setProblem(error.message);
      }
    }, 40);
    return () => (clearTimeout(timer), controller.abort());
  }, [text]);

  const choose = (match) => {
    setText("");
    setFound([]);
    setProblem("");
    onChoose(match);
  };
  const keys = (event) => {
    event.stopPropagation();
    if (event.key === "ArrowDown") event.preventDefault(), setAt(Math.min(found.length - 1, at + 1));
    else if (event.key === "ArrowUp") event.preventDefault(), setAt(Math.max(0, at - 1));
    else if (event.key === "Escape") event.preventDefault(), setText(""), onLeave && onLeave();
    else if (event.key === "Enter") {
      event.preventDefault();
      if (!text.trim()) return;
      if (state.current.answered === text.trim() && found[at]) choose(found[at]);
      else state.current.enter = true; // as soon as the answer is here
    }
  };
  const open = found.length > 0;
  return html`<div class="search">
    <label class="hidden" for=${id}>${label}</label>
    <input ref=${input} id=${id} type="text" role="combobox" autocomplete="off" spellcheck="false" placeholder=${placeholder}
      aria-expanded=${open} aria-controls="${id}-list" aria-autocomplete="list" aria-activedescendant=${open ? `${id}-${at}` : undefined}
      value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${keys} />
    <ul id="${id}-list" role="listbox" aria-label="Nodes found" class=${open ? "" : "closed"}>
      ${found.map(
        (match, i) => html`<li key=${match.label} id="${id}-${i}" role="option" aria-selected=${i === at} class=${i === at ? "active" : ""}
          onMouseDown=${(e) => (e.preventDefault(), choose(match))}>
          <span class="name">${match.name}</span>
          ${match.text !== match.name && html`<span class="found">${match.text}</span>`}
          <span class="kind">${match.kind === "id" ? "name" : match.kind}${match.children ? `, ${match.children} below` : ""}</span>
        </li>`,
      )}
    </ul>
    <p class="hint" role="status">${text.trim() && problem}</p>
  </div>`;
}
