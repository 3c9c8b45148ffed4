// Rows of equal height of which only those in view exist, so that a list of any length is drawn at once.
import { html, useLayoutEffect, useRef, useState } from "./html.js";

const EXTRA = 6; // rows beyond the edges

export function Virtual({ rows, active, height, render, class: name, ...attributes }) {
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, size: 600 });
  const size = () => height * parseFloat(getComputedStyle(document.documentElement).fontSize);
  useLayoutEffect(() => {
    const element = box.current;
    const look = () => setView({ top: element.scrollTop, size: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  useLayoutEffect(() => {
    if (active == null || active < 0) return;
    const element = box.current;
    const row = size();
    if (active * row < element.scrollTop) element.scrollTop = active * row;
    else if ((active + 1) * row > element.scrollTop + element.clientHeight) element.scrollTop = (active + 1) * row - element.clientHeight;
  }, [active, rows.length]);
  const row = size();
  const first = Math.max(0, Math.min(rows.length - 1, Math.floor(view.top / row) - EXTRA));
  const last = Math.min(rows.length, Math.ceil((view.top + view.size) / row) + EXTRA);
  const shown = [];
  for (let i = Math.max(0, first); i < last; i++) shown.push(i);
  if (active != null && active >= 0 && active < rows.length && !shown.includes(active)) shown.push(active);
  return html`<div ref=${box} class="virtual ${name}" ...${attributes}>
    <div class="virtual-all" role="presentation" style=${{ height: `${rows.length * row}px` }}>
      ${shown.map((i) => render(rows[i], i, { position: "absolute", top: `${i * row}px`, height: `${row}px` }))}
    </div>
  </div>`;
}
