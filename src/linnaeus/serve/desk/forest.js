// The rows of the tree: the paths to the suggestions, and whatever else was opened. Pure functions.
//
// A node with several parents has one row per path; the key of a row is its path.

const BETWEEN = "\u001f";
export const keyOf = (path) => path.join(BETWEEN);
export const pathOf = (key) => (key === "" ? [] : key.split(BETWEEN));

// Paths of nodes ({label, name, children}) as nested maps, ordered by the best score below.
export function forestOf(paths, scoreOf) {
  const root = { kids: new Map(), best: -Infinity };
  for (const path of paths) {
    let at = root;
    const best = Math.max(...path.map((n) => scoreOf(n.label) ?? -Infinity));
    for (const node of path) {
      if (!at.kids.has(node.label)) at.kids.set(node.label, { node, kids: new Map(), best: -Infinity });
      at = at.kids.get(node.label);
      at.best = Math.max(at.best, best);
    }
  }
  return root;
}

// Visible rows from top to bottom. `loaded`: all children of nodes that were asked for, by label ("" for the top);
// `opened`: true or false by key where somebody opened or closed a row; `full`: keys whose siblings are shown.
export function rowsOf(forest, loaded, opened, full) {
  const rows = [];
  const walk = (branch, parent, key, level) => {
    const known = branch ? [...branch.kids.values()].sort((a, b) => b.best - a.best) : [];
    const all = loaded.get(parent ? parent.label : "");
    const complete = full.has(key) || !known.length;
    const nodes = complete && all ? all : known.map((k) => k.node);
    const first = rows.length;
    nodes.forEach((node, i) => {
      const inner = branch ? branch.kids.get(node.label) : undefined;
      const own = key === "" ? node.label : key + BETWEEN + node.label;
      const suggested = inner !== undefined && inner.kids.size > 0;
      const expanded = node.children > 0 && (opened.get(own) ?? suggested);
      rows.push({ key: own, node, level, expanded, parent: key, position: i + 1, size: nodes.length });
      if (expanded) walk(inner, node, own, level + 1);
    });
    if (complete && !all && (!parent || parent.children > 0)) {
      rows.push({ key: `${key}${BETWEEN}…`, more: key, loading: true, level, parent: key, text: "loading" });
    } else if (!complete) {
      const rest = parent ? parent.children - known.length : null;
      if (rest !== 0) rows.push({ key: `${key}${BETWEEN}…`, more: key, level, parent: key, rest });
    }
    const siblings = rows.length - first;
    return siblings;
  };
  walk(forest, null, "", 1);
  return rows;
}

// Every path to a row of a label in view.
export const rowOfLabel = (rows, label) => rows.findIndex((r) => r.node && r.node.label === label);
