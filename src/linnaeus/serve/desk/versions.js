// Versions of the model: trained or calibrated again with verdicts, compared on control documents, promoted by a person.
import { count, html, plural, useEffect, useState } from "./html.js";
import { desk } from "./api.js";

const KINDS = { refit: "trained again", recalibrate: "calibrated again", desk: "trained at the desk", replaced: "ran before", "before online learning": "before online learning" };
const BUSY = ["waiting", "running"];

export function Versions({ model, coder, say, onModel, may }) {
  const [found, setFound] = useState(null);
  const [jobs, setJobs] = useState([]);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const load = () =>
    Promise.all([desk.versions(model.name), desk.jobs()]).then(
      ([versions, all]) => (setFound(versions), setJobs(all.jobs.filter((j) => j.model === model.name && KINDS[j.kind])), setProblem("")),
      (error) => setProblem(error.message),
    );
  const working = jobs.find((j) => BUSY.includes(j.state));
  useEffect(() => {
    load();
    const timer = setInterval(load, working ? 1500 : 15000);
    return () => clearInterval(timer);
  }, [Boolean(working), model]);
  const act = async (work, message) => {
    setBusy(true);
    try {
      await work();
      say(message);
      await load();
    } catch (error) {
      say(error.message, true);
    } finally {
      setBusy(false);
    }
  };
  const promote = (version) => act(() => desk.promote(model.name, { version: version.id, by: coder }).then(onModel), `Version ${version.id} runs now; the one before is kept.`);
  const last = jobs[0];
  return html`<section class="tile versions"><h2>Versions of the model</h2>
    ${problem && html`<p class="problem">${problem}</p>`}
    ${may && html`<p class="choices"><button disabled=${busy || Boolean(working)} onClick=${() => act(() => desk.refit(model.name), "The model is trained again in the background.")}>Train again with the verdicts</button>
      <button disabled=${busy || Boolean(working)} onClick=${() => act(() => desk.recalibrate(model.name), "The model is calibrated again in the background.")}>Calibrate again</button></p>`}
    ${working && html`<p role="status">${KINDS[working.kind]}: ${working.state}</p>`}
    ${last && last.state === "failed" && html`<p class="problem">${last.detail}</p>`}
    <p class="hint">A new version answers nothing until somebody promotes it. Every version that ran is kept and can be brought back.</p>
    ${found && !found.versions.length && html`<p>Only the model that runs, <code>${found.running.slice(0, 8)}</code>.</p>`}
    ${found && found.versions.length > 0 && html`<ul class="versions">${found.versions.map((v) => html`<${Version} key=${v.id} version=${v} runs=${v.fingerprint === found.running} busy=${busy || !may} onPromote=${() => promote(v)} />`)}</ul>`}
  </section>`;
}

function Version({ version, runs, busy, onPromote }) {
  const back = version.kind === "replaced" || version.kind.startsWith("before");
  return html`<li><span><b>${KINDS[version.kind] || version.kind}</b> <code>${version.fingerprint.slice(0, 8)}</code> ${new Date(1000 * version.created).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}${version.documents ? `, ${plural(version.documents, "document")}` : ""}</span>
    ${runs ? html`<span class="badge">runs</span>` : html`<button disabled=${busy} onClick=${onPromote}>${back ? "Bring back" : "Promote"}</button>`}
    ${version.comparison.length > 0 && html`<table><caption>Beside the model that ran, on ${count(version.control)} control documents</caption><thead><tr><th>measure</th><th class="number">new</th><th class="number">before</th><th class="number">change, interval</th></tr></thead>
      <tbody>${version.comparison.slice(0, 3).map((row) => html`<tr key=${row.measure}><th scope="row">${row.measure}</th>${["first", "second"].map((side) => html`<td class="number">${number(row[side])}</td>`)}<td class="number">${number(row.low)} to ${number(row.high)}</td></tr>`)}</tbody></table>`}</li>`;
}

const number = (value) => (typeof value === "number" ? value.toFixed(3) : "–");
