// Which documents are for which coder: by share, by subtree, or both.
import { count, duration, html, percent, plural, useEffect, useState } from "./html.js";
import { desk } from "./api.js";

const EMPTY = { coder: "", share: 100, subtree: "" };

export function Assigning({ coder, say }) {
  const [found, setFound] = useState([]);
  const [rules, setRules] = useState([EMPTY]);
  const load = () => desk.assignments().then((a) => setFound(a.coders), () => {});
  useEffect(() => {
    load();
  }, []);
  const change = (i, name, value) => setRules(rules.map((rule, j) => (i === j ? { ...rule, [name]: value } : rule)));
  const send = async (given) => {
    const body = given.filter((r) => r.coder.trim()).map((r) => ({ coder: r.coder.trim(), share: Number(r.share) / 100, subtree: r.subtree.trim() || null }));
    try {
      const { assigned } = await desk.assign({ rules: body, coder });
      const parts = Object.entries(assigned).map(([name, n]) => `${name} ${count(n)}`);
      say(parts.length ? `Documents assigned: ${parts.join(", ")}.` : "Open documents are for everybody again.");
      await load();
    } catch (error) {
      say(error.message, true);
    }
  };
  return html`<section class="tile assigning"><h2>Assignment</h2>
    ${found.length > 0 && html`<table><thead><tr><th>coder</th><th class="number">assigned</th><th class="number">left</th><th class="number">time left</th></tr></thead>
      <tbody>${found.map((c) => html`<tr key=${c.coder}><th scope="row">${c.coder}</th><td class="number">${count(c.assigned)}</td><td class="number">${count(c.left)}</td><td class="number">${duration(c.seconds_left)}</td></tr>`)}</tbody></table>`}
    <form onSubmit=${(e) => (e.preventDefault(), send(rules))}>
      ${rules.map((rule, i) => html`<fieldset key=${i}><legend class="hidden">Coder ${i + 1}</legend>
        <label>Coder <input value=${rule.coder} maxlength="60" onInput=${(e) => change(i, "coder", e.target.value)} /></label>
        <label>Share, % <input type="number" min="0.1" max="100" step="any" value=${rule.share} onInput=${(e) => change(i, "share", e.target.value)} /></label>
        <label>Below the node <input value=${rule.subtree} placeholder="all documents" onInput=${(e) => change(i, "subtree", e.target.value)} /></label></fieldset>`)}
      <p class="choices"><button type="button" onClick=${() => setRules([...rules, EMPTY])}>Another coder</button>
        <button disabled=${!rules.some((r) => r.coder.trim())}>Assign the open documents</button>
        ${found.length > 0 && html`<button type="button" onClick=${() => send([])}>For everybody again</button>`}</p>
    </form>
    <p class="hint">Documents without a verdict are drawn at random for each coder; what nobody is named for is for everybody. Double documents are also coded by one other coder.</p>
  </section>`;
}
