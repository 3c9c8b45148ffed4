// A document of the queue made ready to show: paths to its suggestions, and scores of all nodes on them.
import { percent } from "./html.js";
import { contentOf } from "./document.js";

export async function prepare(model, item) {
  const suggestions = item.suggestions || [];
  const all = await model.pathsOf(suggestions.map((s) => s.label));
  const paths = all.flat();
  const scores = new Map(suggestions.map((s) => [s.label, s]));
  const missing = [...new Set(paths.flat().map((n) => n.label))].filter((l) => !scores.has(l));
  if (missing.length && model.about.can.probabilities && suggestions.some((s) => s.probability != null)) {
    const found = await model.probabilities(contentOf(item, model.about.takes), missing).catch(() => []);
    for (const one of found) scores.set(one.label, one);
  }
  const below = new Map();
  for (const path of paths) {
    const best = scores.get(path.at(-1).label);
    for (const node of path) {
      const before = below.get(node.label);
      if (!before || value(best) > value(before)) below.set(node.label, best);
    }
  }
  const names = new Map(paths.flat().map((n) => [n.label, n.name]));
  for (const s of suggestions) if (!names.has(s.label)) names.set(s.label, s.name || s.label);
  const above = new Map();
  for (const path of paths) path.forEach((n, i) => above.set(n.label, [...(above.get(n.label) || []), ...path.slice(0, i).map((a) => a.label)]));
  return { ...item, suggestions, paths, scores, below, names, above, suggested: item.answer || suggestions.slice(0, 1).map((s) => s.label) };
}

const value = (s) => (s ? (s.probability ?? s.score ?? -Infinity) : -Infinity);

// How the score of a node is shown; a node without a score of its own has the best one below it.
export function scoreOf(item, label) {
  if (!item) return null;
  const best = item.below.get(label);
  const found = item.scores.get(label);
  const own = found && value(found) >= value(best) ? found : null; // scores that are not coherent: what is below counts
  const shown = own || best || found;
  if (!shown || value(shown) === -Infinity) return null;
  const p = shown.probability;
  const share = p ?? 1 / (1 + Math.exp(-shown.score));
  const text = p != null ? percent(p, p > 0 && p < 0.1 ? 1 : 0) : `${shown.score >= 0 ? "+" : "−"}${Math.abs(shown.score).toFixed(2)}`;
  const title = own ? (p != null ? "probability" : "score") : "the best score below this node";
  return { text: own ? text : `≤ ${text}`, share, order: value(shown), below: !own, title };
}

export function rankOf(item, label) {
  const i = item ? item.suggestions.findIndex((s) => s.label === label) : -1;
  return i >= 0 && i < 9 ? i + 1 : 0;
}
