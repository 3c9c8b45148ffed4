// Files: what was coded is downloaded, and what was coded elsewhere is read.
import { html, useRef, useState } from "./html.js";
import { desk, download } from "./api.js";

const EXPORTS = [["jsonl", "JSON lines"], ["csv", "CSV for spreadsheets"], ["annif", "Annif TSV"], ["label-studio", "Label Studio JSON"], ["skos", "SKOS annotations"]];

export function Transfer({ coder, say, onChange }) {
  const file = useRef(null);
  const [as, setAs] = useState("verdicts");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const read = async (event) => {
    event.preventDefault();
    const chosen = file.current.files[0];
    if (!chosen) return setProblem("Choose a file first.");
    setBusy(true);
    setProblem("");
    try {
      const found = await desk.upload(as, chosen, coder);
      say(as === "verdicts" ? `${found.stored} verdicts stored, ${found.repeated} were known; ${found.added} documents are new.` : `${found.added} documents added, ${found.known} were known.`);
      file.current.value = "";
      onChange();
    } catch (error) {
      setProblem(error.message);
    }
    setBusy(false);
  };
  return html`<section class="tile"><h2>Files</h2>
    <ul class="exports">${EXPORTS.map(([format, name]) => html`<li key=${format}><button onClick=${() => download(`export?format=${format}`, `export.${format}`).catch((error) => say(error.message, true))}>${name}</button></li>`)}</ul>
    <form onSubmit=${read}>
      <p><label for="import-file">Read a file: Annif TSV, Label Studio JSON, JSON lines, CSV</label> <input id="import-file" type="file" ref=${file} /></p>
      <p><label for="import-as">as</label> <select id="import-as" value=${as} onChange=${(e) => setAs(e.target.value)}>
        <option value="verdicts">verdicts of ${coder}, or of the coders that it names</option><option value="documents">documents to code</option></select>
        <button disabled=${busy}>${busy ? "Reading" : "Read"}</button></p>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    </form></section>`;
}
