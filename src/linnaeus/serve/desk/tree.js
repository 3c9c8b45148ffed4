// The taxonomy as a tree (ARIA tree pattern) with scores on the paths to the suggestions.
import { html, percent, useEffect, useMemo, useRef, useState } from "./html.js";
import { forestOf, pathOf, rowOfLabel, rowsOf } from "./forest.js";
import { Virtual } from "./virtual.js";

const ROW = 2; // rem

export function Tree({ model, item, labels, rejected, active, onActive, onToggle, onOpen, scoreOf, rankOf, shared }) {
  const [opened, setOpened] = useState(new Map());
  const [full, setFull] = useState(new Set());
  const [loaded, setLoaded] = useState(new Map());
  const [problem, setProblem] = useState("");
  const paths = item ? item.paths : [];
  const forest = useMemo(() => forestOf(paths, (l) => scoreOf(l)?.order), [item, paths.length]);
  const extra = shared.current;
  useEffect(() => {
    setOpened(new Map());
    setFull(new Set());
  }, [item && item.id]);
  const rows = useMemo(() => rowsOf(forest, loaded, opened, full), [forest, loaded, opened, full]);
  const at = Math.max(0, rows.findIndex((r) => r.key === active));
  const here = rows[at];

  const load = async (label) => {
    if (loaded.has(label ?? "")) return;
    try {
      const found = await model.children(label);
      setLoaded((before) => new Map(before).set(label ?? "", found));
      setProblem("");
    } catch (error) {
      setProblem(error.message);
    }
  };
  const open = (row, wanted) => {
    if (!row.node || !row.node.children) return;
    setOpened((before) => new Map(before).set(row.key, wanted));
    if (wanted) load(row.node.label);
  };
  const showAll = (key) => {
    const path = pathOf(key);
    setFull((before) => new Set(before).add(key));
    load(path.length ? path.at(-1) : null);
  };
  const move = (i) => rows[i] && onActive(rows[i].key, rows[i].node);

  // The top is loaded when there is nothing else to show.
  useEffect(() => {
    if (!paths.length) load(null);
  }, [item && item.id, paths.length]);
  // What other parts of the view ask of the tree.
  shared.current = {
    ...extra,
    siblings: () => here && showAll(here.parent),
    reveal: async (path) => {
      const next = new Map(opened);
      const shown = new Set(full);
      const all = new Map(loaded);
      for (let i = 0; i < path.length; i++) {
        const key = path.slice(0, i).join("\u001f");
        const parent = i ? path[i - 1] : null;
        all.set(parent ?? "", await model.children(parent));
        shown.add(key);
        if (i) next.set(key, true);
      }
      setLoaded(all);
      setFull(shown);
      setOpened(next);
      onActive(path.join("\u001f"), all.get(path.length > 1 ? path.at(-2) : "").find((n) => n.label === path.at(-1)));
    },
    show: (label) => {
      const i = rowOfLabel(rows, label);
      if (i >= 0) move(i);
      return i >= 0;
    },
  };

  const keys = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !here) return;
    const done = () => {
      event.preventDefault();
      event.stopPropagation();
    };
    if (event.key === "ArrowDown") done(), move(Math.min(rows.length - 1, at + 1));
    else if (event.key === "ArrowUp") done(), move(Math.max(0, at - 1));
    else if (event.key === "Home") done(), move(0);
    else if (event.key === "End") done(), move(rows.length - 1);
    else if (event.key === "PageDown") done(), move(Math.min(rows.length - 1, at + 10));
    else if (event.key === "PageUp") done(), move(Math.max(0, at - 10));
    else if (event.key === "ArrowRight") {
      done();
      if (here.more != null) showAll(here.more);
      else if (here.node.children && !here.expanded) open(here, true);
      else if (here.expanded) move(at + 1);
    } else if (event.key === "ArrowLeft") {
      done();
      if (here.expanded) open(here, false);
      else {
        const i = rows.findIndex((r) => r.key === here.parent);
        if (i >= 0) move(i);
      }
    } else if (event.key === " ") {
      done();
      if (here.more != null) showAll(here.more);
      else onToggle(here.node, pathOf(here.key));
    } else if (event.key === "Enter" && here.more != null) done(), showAll(here.more);
  };
  const click = (row) => {
    onActive(row.key, row.node);
    if (row.more != null) showAll(row.more);
  };
  return html`<div class="tree-box">
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <${Virtual} rows=${rows} active=${at} height=${ROW} class="tree" role="tree" id="tree" tabindex="0" aria-label="Taxonomy"
      aria-multiselectable=${model.single ? "false" : "true"} aria-activedescendant=${here ? rowId(here) : undefined} onKeyDown=${keys}
      render=${(row, i, style) => html`<${Row} key=${row.key} ...${{ row, style, active: i === at, click, open, onToggle, labels, rejected, scoreOf, rankOf, paths }} />`} />
  </div>`;
}

const rowId = (row) => `row-${encodeURIComponent(row.key)}`;

function Row({ row, style, active, click, open, onToggle, labels, rejected, scoreOf, rankOf, paths }) {
  const indent = { ...style, paddingLeft: `${0.4 + (row.level - 1) * 1.1}rem` };
  if (row.more != null) {
    const text = row.loading ? "loading…" : row.rest == null ? "all top nodes" : `${row.rest} more here`;
    return html`<div id=${rowId(row)} class="row more ${active ? "active" : ""}" style=${indent} role="treeitem" aria-level=${row.level}
      aria-selected="false" onClick=${() => click(row)}><span class="twist" aria-hidden="true">⋯</span><span class="name">${text}</span></div>`;
  }
  const { node } = row;
  const chosen = labels.includes(node.label);
  const refused = rejected.includes(node.label);
  const score = scoreOf(node.label);
  const rank = rankOf(node.label);
  const several = paths.filter((p) => p.at(-1).label === node.label).length;
  return html`<div id=${rowId(row)} class="row ${active ? "active" : ""} ${chosen ? "chosen" : ""} ${refused ? "refused" : ""}" style=${indent}
    role="treeitem" aria-level=${row.level} aria-setsize=${row.size} aria-posinset=${row.position} aria-selected=${chosen}
    aria-expanded=${node.children ? row.expanded : undefined} onClick=${() => click(row)} onDblClick=${() => onToggle(node, pathOf(row.key))}>
    <span class="twist" aria-hidden="true" onClick=${(e) => (e.stopPropagation(), open(row, !row.expanded))}>${node.children ? (row.expanded ? "▾" : "▸") : ""}</span>
    <span class="tick" aria-hidden="true" onClick=${(e) => (e.stopPropagation(), click(row), onToggle(node, pathOf(row.key)))}>${chosen ? "✓" : refused ? "✕" : ""}</span>
    ${rank > 0 && html`<kbd class="rank" aria-hidden="true">${rank}</kbd>`}
    <span class="name" title=${node.name}>${node.name}</span>
    ${several > 1 && html`<span class="several" title="This node is shown once per path.">${several} paths</span>`}
    ${chosen && html`<span class="hidden">chosen</span>`}${refused && html`<span class="hidden">rejected</span>`}
    ${rank > 0 && html`<span class="hidden">suggestion ${rank}</span>`}
    ${score && html`<span class="score ${score.below ? "below" : ""}" title=${score.title}><span class="bar" aria-hidden="true"><span style=${{ width: percent(score.share, 1) }}></span></span><span class="value">${score.text}</span></span>`}
  </div>`;
}
