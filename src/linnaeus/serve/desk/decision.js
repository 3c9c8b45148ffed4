// The decision about one document: the labels that Enter stores, with undo and redo. Pure functions.

export function start(suggested) {
  return { suggested, labels: suggested, rejected: [], past: [], future: [] };
}

function change(decision, next) {
  const { labels, rejected } = decision;
  return { ...decision, ...next, past: [...decision.past, { labels, rejected }], future: [] };
}

// Choose a label or take it back; with a single label per document it replaces the one before.
export function toggle(decision, label, single) {
  const has = decision.labels.includes(label);
  const rest = decision.labels.filter((l) => l !== label);
  return change(decision, {
    labels: has ? rest : single ? [label] : [...rest, label],
    rejected: decision.rejected.filter((l) => l !== label),
  });
}

export function reject(decision, label) {
  return change(decision, {
    labels: decision.labels.filter((l) => l !== label),
    rejected: [...decision.rejected.filter((l) => l !== label), label],
  });
}

// A label gives way to its ancestor.
export function backOff(decision, label, ancestor) {
  return change(decision, { labels: [...new Set(decision.labels.map((l) => (l === label ? ancestor : l)))] });
}

export function clear(decision) {
  return change(decision, { labels: [] });
}

export function undo(decision) {
  if (!decision.past.length) return decision;
  const { labels, rejected, past, future } = decision;
  return { ...decision, ...past.at(-1), past: past.slice(0, -1), future: [{ labels, rejected }, ...future] };
}

export function redo(decision) {
  if (!decision.future.length) return decision;
  const { labels, rejected, past, future } = decision;
  return { ...decision, ...future[0], past: [...past, { labels, rejected }], future: future.slice(1) };
}

// What kind of verdict a decision is; `above(label)` gives the known ancestors of a label.
export function kindOf({ suggested, labels }, above) {
  const before = new Set(suggested);
  const added = labels.filter((l) => !before.has(l));
  const removed = suggested.filter((l) => !labels.includes(l));
  if (!added.length) return removed.length ? "reject" : "accept";
  if (!removed.length) return "add";
  const higher = new Set(removed.flatMap((l) => above(l)));
  return added.every((l) => higher.has(l)) ? "back-off" : "replace";
}
