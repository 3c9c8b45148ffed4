// Keys of the coding view, and the sheet that lists them.
import { html, useEffect, useRef } from "./html.js";

export const KEYS = [
  ["Decide", [
    ["Enter", "store the labels shown, next document"],
    ["1 … 9", "choose or take back suggestion 1 … 9"],
    ["Space", "choose or take back the focused node"],
    ["x", "reject the focused node"],
    ["b", "back off: the focused label gives way to its parent"],
    ["n", "none fits, next document"],
    ["c", "cannot tell, next document"],
    ["Delete", "take all labels back"],
    ["m", "write a note"],
    ["f", "flag for discussion"],
    ["u or Ctrl+Z", "undo, also the last document"],
    ["r or Ctrl+Y", "redo"],
    ["j", "skip: later"],
  ]],
  ["Look", [
    ["/", "search the taxonomy; Enter takes the result"],
    ["t", "go to the tree; arrows move, open and close"],
    ["s", "show all siblings of the focused node"],
    ["w", "why: words for and against"],
    ["i", "card of the focused node"],
    ["h", "history of the document"],
    ["d", "go to the document"],
    ["g then 1 … 5", "go to another view"],
    ["Escape", "back to the work area"],
    ["?", "this sheet"],
  ]],
];

export function Sheet({ onClose, single, onSingle }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  return html`<dialog ref=${dialog} class="sheet" aria-labelledby="sheet-title" onClose=${onClose} onKeyDown=${(e) => (e.stopPropagation(), e.key === "?" && onClose())}>
    <h2 id="sheet-title">Keys</h2>
    <div class="columns">${KEYS.map(
      ([title, keys]) => html`<section key=${title}><h3>${title}</h3><dl>${keys.map(([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl></section>`,
    )}</div>
    <p><label><input type="checkbox" checked=${single} onChange=${(e) => onSingle(e.target.checked)} /> Single letters and digits are keys (Enter, Ctrl+Z and the arrows always work)</label></p>
    <button onClick=${onClose}>Close</button>
  </dialog>`;
}

// Whether a key press belongs to a control rather than to the view.
export function typing(event) {
  const t = event.target;
  return t.isContentEditable || t.tagName === "TEXTAREA" || t.tagName === "SELECT" || (t.tagName === "INPUT" && !["checkbox", "radio", "button", "range"].includes(t.type));
}
export const pressing = (event) => ["BUTTON", "A", "SUMMARY"].includes(event.target.tagName);
