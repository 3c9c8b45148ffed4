// Verdicts on their way to the server. Each is kept in localStorage under its own key until the server has said that it
// is stored, so that none is lost when the server or the page goes away; the key of a verdict makes a repeated send
// harmless. One entry per verdict: two open pages cannot overwrite each other's list.
import { desk } from "./api.js";

const PREFIX = "linnaeus-desk/verdict/";
const BATCH = 50;
const listeners = new Set();
const unsaved = new Map(); // where localStorage is full or forbidden
let order = 0;
let sending = false;
let delay = 0;
let timer = 0;
let state = { waiting: 0, away: false, refused: [], unsafe: false };

export const newKey = () =>
  crypto.randomUUID ? crypto.randomUUID() : Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

// Whether a verdict that waits here decides a document.
export const decides = (id) => entries().some(({ verdict }) => verdict.document === id && !["note", "flag", "undo", "redo"].includes(verdict.kind));

export const waiting = () => state.waiting;

export function subscribe(listener) {
  listeners.add(listener);
  listener(state);
  return () => listeners.delete(listener);
}

function publish(change = {}) {
  state = { ...state, ...change, waiting: entries().length, unsafe: unsaved.size > 0 };
  for (const listener of listeners) listener(state);
}

function entries() {
  const found = [...unsaved.values()];
  for (let i = 0; i < localStorage.length; i++) {
    const name = localStorage.key(i);
    if (!name.startsWith(PREFIX)) continue;
    try {
      found.push(JSON.parse(localStorage.getItem(name)));
    } catch {
      // not written by this page
    }
  }
  return found.filter((e) => e && e.verdict && !e.refused).sort((a, b) => a.at - b.at || a.order - b.order);
}

function keep(entry) {
  try {
    localStorage.setItem(PREFIX + entry.verdict.key, JSON.stringify(entry));
    unsaved.delete(entry.verdict.key);
  } catch {
    unsaved.set(entry.verdict.key, entry);
  }
}

function drop(key) {
  localStorage.removeItem(PREFIX + key);
  unsaved.delete(key);
}

export function put(verdict) {
  keep({ verdict, at: Date.now(), order: order++ });
  publish();
  flush();
}

export function dismiss(key) {
  drop(key);
  publish({ refused: state.refused.filter((r) => r.verdict.key !== key) });
}

export async function flush() {
  clearTimeout(timer);
  if (sending) return;
  sending = true;
  let one = false; // send one at a time after a whole batch was refused
  try {
    for (let batch = entries().slice(0, BATCH); batch.length; batch = entries().slice(0, one ? 1 : BATCH)) {
      try {
        const answer = await desk.verdicts(batch.map((e) => e.verdict));
        const results = new Map(answer.results.map((r) => [r.key, r]));
        for (const entry of batch) {
          const result = results.get(entry.verdict.key);
          if (result) drop(entry.verdict.key);
        }
        if (!results.size) throw new Error("The server answered without results.");
      } catch (error) {
        if (error.away || error.status === 401 || error.status === 429 || error.status >= 500 || error.status === undefined) throw error;
        if (batch.length > 1) one = true;
        else refuse(batch[0], error.message);
      }
      delay = 0;
      publish({ away: false });
    }
    publish();
  } catch {
    delay = Math.min(30000, Math.max(500, 2 * delay));
    timer = setTimeout(flush, delay);
    publish({ away: true });
  } finally {
    sending = false;
  }
}

// Refused verdicts are shown until somebody dismisses them.
function refuse(entry, detail) {
  keep({ ...entry, refused: detail });
  state = { ...state, refused: [...state.refused, { verdict: entry.verdict, detail }] };
}

function recall() {
  const refused = [];
  for (let i = 0; i < localStorage.length; i++) {
    const name = localStorage.key(i);
    if (!name.startsWith(PREFIX)) continue;
    try {
      const entry = JSON.parse(localStorage.getItem(name));
      if (entry.refused) refused.push({ verdict: entry.verdict, detail: entry.refused });
    } catch {
      // not written by this page
    }
  }
  publish({ refused });
}

recall();
addEventListener("online", flush);
addEventListener("storage", () => publish());
addEventListener("beforeunload", (event) => {
  if (unsaved.size) event.preventDefault();
});
flush();
