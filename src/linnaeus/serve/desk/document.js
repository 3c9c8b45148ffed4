// The document: its fields as text, with the words marked that count for or against the focused node.
import { html, useMemo } from "./html.js";

const LONG = 6000; // characters after which a field is folded

export function fieldsOf(document) {
  if (!document) return [];
  if (document.text != null) return [["", document.text]];
  if (document.fields) return Object.entries(document.fields).filter(([, text]) => text);
  if (document.vector) return [["vector", document.vector.join("  ")]];
  return [];
}

// What the model takes of a document.
export function contentOf({ text, fields, vector }, takes) {
  if (text != null) return { text };
  if (!fields) return { vector };
  const known = Object.entries(fields).filter(([name]) => !takes || takes.includes(name));
  return { fields: Object.fromEntries(known) };
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// Parts of a text with the contribution of the term that each holds. Longer terms first, whole words only.
export function marked(text, terms) {
  const weight = new Map();
  for (const [term, value] of terms) {
    const plain = term.includes(":") && !text.includes(term) ? term.slice(term.indexOf(":") + 1) : term;
    const word = plain.trim().toLowerCase();
    if (word.length > 1 && !weight.has(word)) weight.set(word, value);
  }
  if (!weight.size) return [[text, 0]];
  const words = [...weight.keys()].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words.map((w) => w.split(/\s+/).map(escaped).join("[\\s\\p{P}]+")).join("|")})(?![\\p{L}\\p{N}_])`, "giu");
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const value = weight.get(match[0].toLowerCase().replace(/[\s\p{P}]+/gu, " ")) ?? weight.get(match[0].toLowerCase());
    if (value === undefined) continue;
    if (match.index > end) parts.push([text.slice(end, match.index), 0]);
    parts.push([match[0], value]);
    end = match.index + match[0].length;
  }
  parts.push([text.slice(end), 0]);
  return parts;
}

function Field({ name, text, terms }) {
  const parts = useMemo(() => marked(text.slice(0, LONG), terms), [text, terms]);
  const most = Math.max(1e-9, ...parts.map(([, value]) => Math.abs(value)));
  const strength = (value) => (Math.abs(value) > 0.5 * most ? "strong" : "weak");
  return html`<section class="field">
    ${name && html`<h3>${name}</h3>`}
    <p class="text">${parts.map(([part, value]) =>
      value ? html`<mark class="${value > 0 ? "for" : "against"} ${strength(value)}" title="${value > 0 ? "for" : "against"}: ${value.toFixed(3)}">${part}</mark>` : part,
    )}</p>
    ${text.length > LONG && html`<details><summary>${(text.length - LONG).toLocaleString("en")} more characters</summary><p class="text">${text.slice(LONG)}</p></details>`}
  </section>`;
}

const NONE = [];

export function Document({ item, terms = NONE }) {
  const fields = fieldsOf(item);
  return html`<div class="document" lang="">${fields.map(([name, text]) => html`<${Field} key=${name} name=${name} text=${text} terms=${terms} />`)}</div>`;
}
