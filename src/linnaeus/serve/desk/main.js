// The page: who codes, which view, and what is on its way to the server.
import { html, plural, render, useCallback, useEffect, useMemo, useState } from "./html.js";
import { desk, forgetToken, Model, signedIn } from "./api.js";
import { Adjudication } from "./adjudication.js";
import * as ahead from "./ahead.js";
import { Coding } from "./coding.js";
import { Documents } from "./documents.js";
import { Sheet, typing } from "./keys.js";
import { Login } from "./login.js";
import * as outbox from "./outbox.js";
import { Progress } from "./progress.js";
import { Proposals } from "./proposals.js";

const VIEWS = [["code", "Code"], ["documents", "Documents"], ["disagreements", "Disagreements"], ["progress", "Progress"], ["proposals", "Proposals"]];
const ROLES = ["coder", "reviewer", "admin"];
const THEMES = { auto: "as the system", light: "light", dark: "dark", contrast: "high contrast" };

function remembered(name, otherwise) {
  try {
    return localStorage.getItem(`linnaeus-desk/${name}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function useRemembered(name, otherwise) {
  const [value, set] = useState(remembered(name, otherwise));
  const keep = (next) => {
    set(next);
    try {
      localStorage.setItem(`linnaeus-desk/${name}`, next);
    } catch {
      // the choice lasts as long as the page
    }
  };
  return [value, keep];
}

const viewOf = () => {
  const [name, ...rest] = location.hash.slice(1).split("=");
  const known = VIEWS.some(([id]) => id === name) ? name : "code";
  return { name: known, only: known === "code" && rest.length ? decodeURIComponent(rest.join("=")) : null };
};

function Desk({ about, first }) {
  const [view, setView] = useState(viewOf());
  const [name, setCoder] = useRemembered("coder", about.coder);
  const user = about.user; // where the service has users, their names are those of the coders
  const coder = user ? user.name : name;
  const may = (role) => !user || ROLES.indexOf(user.role) >= ROLES.indexOf(role);
  const [theme, setTheme] = useRemembered("theme", "auto");
  const [keys, setKeys] = useRemembered("keys", "on");
  const [sheet, setSheet] = useState(false);
  const [message, setMessage] = useState({ text: "" });
  const [sent, setSent] = useState({ waiting: 0, away: false, refused: [], unsafe: false });
  const [subtree, setSubtree] = useState("");
  const [models, setModels] = useState(first);
  const model = useMemo(() => new Model(models[0]), [models[0].fingerprint]);
  const onModel = () => desk.about().then((a) => setModels(a.models), () => {});
  const say = useCallback((text, urgent = false) => setMessage({ text, urgent }), []);

  useEffect(() => outbox.subscribe(setSent), []);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    const change = () => setView(viewOf());
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  useEffect(() => {
    document.title = `${VIEWS.find(([id]) => id === view.name)[1]} · linnaeus desk`;
  }, [view.name]);
  useEffect(() => {
    let going = 0;
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || document.querySelector("dialog[open]")) return;
      if (event.key === "?" && keys === "on") return void (event.preventDefault(), setSheet(true));
      if (keys === "on" && going && /^[1-5]$/.test(event.key)) {
        event.preventDefault();
        event.stopImmediatePropagation();
        location.hash = VIEWS[event.key - 1][0];
      }
      clearTimeout(going);
      going = event.key === "g" ? setTimeout(() => (going = 0), 1500) : 0;
    };
    addEventListener("keydown", press, true);
    return () => removeEventListener("keydown", press, true);
  }, [keys]);

  const shared = { model, coder, say, may };
  return html`<div class="desk">
    <a class="skip" href="#work" onClick=${(e) => (e.preventDefault(), document.querySelector("main").focus())}>To the work area</a>
    <header class="top">
      <span class="brand">linnaeus <b>desk</b></span>
      <nav aria-label="Views">${VIEWS.map(([id, name]) => html`<a key=${id} href="#${id}" aria-current=${view.name === id ? "page" : undefined}>${name}</a>`)}</nav>
      <${Connection} sent=${sent} />
      ${user
        ? html`<span class="who">${user.name}, ${user.role} ${signedIn() && html`<button onClick=${signOut}>Sign out</button>`}</span>`
        : html`<label class="who">Coder <input value=${coder} maxlength="60" onChange=${(e) => setCoder(e.target.value.trim() || about.coder)} /></label>`}
      <label class="theme"><span class="hidden">Colours</span> <select value=${theme} onChange=${(e) => setTheme(e.target.value)}>${Object.entries(THEMES).map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>
      <button onClick=${() => setSheet(true)}>Keys <kbd aria-hidden="true">?</kbd></button>
    </header>
    ${sent.refused.length > 0 && html`<${Refused} refused=${sent.refused} />`}
    ${view.name === "code" && html`<${Coding} ...${shared} single=${keys === "on"} subtree=${subtree} setSubtree=${setSubtree} only=${view.only} clearOnly=${() => (location.hash = "code")} />`}
    ${view.name === "documents" && html`<${Documents} ...${shared} />`}
    ${view.name === "disagreements" && html`<${Adjudication} ...${shared} />`}
    ${view.name === "progress" && html`<${Progress} ...${shared} subtree=${subtree} setSubtree=${setSubtree} onModel=${onModel} />`}
    ${view.name === "proposals" && html`<${Proposals} ...${shared} />`}
    <footer class="bottom"><p role=${message.urgent ? "alert" : "status"} class=${message.urgent ? "urgent" : ""}>${message.text}</p>
      <p class="fingerprint">model <code title=${models[0].fingerprint}>${models[0].name} ${models[0].fingerprint.slice(0, 8)}</code></p></footer>
    ${sheet && html`<${Sheet} onClose=${() => setSheet(false)} single=${keys === "on"} onSingle=${(on) => setKeys(on ? "on" : "off")} />`}
  </div>`;
}

function Connection({ sent }) {
  const text = sent.away
    ? `The server is away; ${plural(sent.waiting, "verdict")} kept here`
    : sent.waiting
      ? `sending ${plural(sent.waiting, "verdict")}`
      : "all stored";
  return html`<span class="connection ${sent.away ? "away" : ""}" role="status" data-waiting=${sent.waiting}>${text}${sent.unsafe && "; keep this page open, the browser has no room to keep them"}</span>`;
}

function Refused({ refused }) {
  return html`<section class="refused" aria-label="Verdicts that the server refused"><ul>${refused.map(
    (r) => html`<li key=${r.verdict.key}>The verdict on <code>${r.verdict.document}</code> was refused: ${r.detail} <button onClick=${() => outbox.dismiss(r.verdict.key)}>Dismiss</button></li>`,
  )}</ul></section>`;
}

function signOut() {
  forgetToken();
  ahead.forget();
  location.reload();
}

// The key makes another user another page: nothing of the one before stays.
function show(about) {
  ahead.keepAbout(about);
  render(html`<${Desk} key=${about.user ? about.user.name : ""} about=${about} first=${about.models} />`, root());
  outbox.flush();
}

const signIn = (detail) => render(html`<${Login} detail=${detail} onDone=${show} />`, root());

const root = () => {
  const element = document.getElementById("desk");
  const starting = element.querySelector(":scope > .starting");
  if (starting) starting.remove();
  return element;
};

async function begin() {
  addEventListener("signed-out", (event) => signIn(signedIn() ? event.detail : ""));
  if (navigator.serviceWorker) navigator.serviceWorker.register("sw.js").catch(() => {}); // only where the address is secure
  try {
    show(await desk.about());
  } catch (error) {
    if (error.status === 401) return;
    const before = error.away && ahead.keptAbout();
    if (before) return show(before);
    render(html`<main class="failed"><h1>The desk cannot start</h1><p role="alert">${error.message}</p><button onClick=${() => location.reload()}>Try again</button></main>`, root());
  }
}

document.documentElement.dataset.theme = remembered("theme", "auto");
begin();
