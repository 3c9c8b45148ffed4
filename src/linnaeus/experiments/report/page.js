"use strict";
// The page without this script has every table and picture but those of nodes. Text goes in by textContent alone: names of
// nodes are never read as markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const ROWS = 200; // rows of the table of nodes at a time: sorting thousands stays instant
  const MORE = 500;
  const by = (id) => document.getElementById(id);
  const held = by("data");
  const data = held ? JSON.parse(held.textContent) : null;

  function make(name, attributes = {}, ...children) {
    const made = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // --- tables that sort ---------------------------------------------------------------------------------------------
  const words = new Intl.Collator(undefined, { numeric: true }); // far quicker than localeCompare
  const number = (text) => Number(text.replace("−", "-").replace(/,/g, ""));

  function compare(a, b) { // empty cells last, numbers as numbers, words as words
    if (a === b) return 0;
    if (a === "" || a === null) return Infinity;
    if (b === "" || b === null) return -Infinity;
    const x = typeof a === "number" ? a : number(a), y = typeof b === "number" ? b : number(b);
    if (Number.isNaN(x) || Number.isNaN(y)) return words.compare(a, b);
    return x - y;
  }

  function ordered(items, key, direction) {
    const keyed = items.map((item) => [key(item), item]);
    keyed.sort(([a], [b]) => {
      const order = compare(a, b);
      return Number.isFinite(order) ? direction * order : Math.sign(order);
    });
    return keyed.map(([, item]) => item);
  }

  function turn(head) { // the direction after a click: figures from the top first, words from A
    const before = head.getAttribute("aria-sort");
    const start = head.classList.contains("words") || head.classList.contains("first") ? "ascending" : "descending";
    const other = start === "ascending" ? "descending" : "ascending";
    const now = before === start ? other : start;
    for (const sibling of head.parentNode.children) {
      if (sibling.hasAttribute("aria-sort")) sibling.setAttribute("aria-sort", sibling === head ? now : "none");
    }
    return now === "ascending" ? 1 : -1;
  }

  function sortable(table) {
    const body = table.tBodies[0];
    table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th[aria-sort]");
      if (!head) return;
      const place = head.cellIndex, direction = turn(head);
      const key = (row) => {
        const cell = row.cells[place], text = cell.textContent.trim();
        return cell.dataset.value ?? (text === "–" ? "" : text);
      };
      body.append(...ordered([...body.rows], key, direction));
    });
  }
  document.querySelectorAll("table.sorts").forEach(sortable);

  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("section > details").forEach((details) => { details.open = true; });
  });

  // --- the model in focus -------------------------------------------------------------------------------------------
  const focus = by("focus");
  if (!focus) return;

  function show() {
    for (const one of document.querySelectorAll("[data-model]")) {
      const chosen = one.dataset.model === focus.value;
      one.classList.toggle("chosen", chosen);
      if (chosen && one instanceof SVGElement) one.parentNode.append(one); // drawn last is on top
    }
    const known = ["best", "flat"].some((kind) => document.querySelector(`.${kind}.chosen`));
    by("chosen-key").hidden = known;
    by("chosen").textContent = `in focus: ${focus.value}`;
    if (data) showNodes();
  }
  focus.addEventListener("change", show);
  if (!data) return show();

  // --- nodes --------------------------------------------------------------------------------------------------------
  const all = data.names.map((_, node) => node);
  const children = all.map(() => []);
  const tops = [];
  for (const node of all) (data.parent[node] < 0 ? tops : children[data.parent[node]]).push(node);
  const paths = [];
  for (const node of all) {
    const above = data.parent[node];
    paths.push(above < 0 ? "" : (paths[above] ? paths[above] + " › " : "") + data.labels[above]);
  }
  const searched = all.map((node) => `${data.names[node]} ${data.labels[node]} ${paths[node]}`.toLowerCase());
  const figures = () => data.models[focus.value];
  const share = (value) => (value < 0 ? "–" : (value / 1000).toFixed(3));
  const colour = (value) => (value < 0 ? "fx" : "f" + Math.min(4, Math.floor(value / 200)));
  const whole = (value) => value.toLocaleString("en");

  function showNodes() {
    by("focused").textContent = focus.value;
    drawIcicle();
    colourTree();
    fillTable();
    fillConfusion();
  }

  // the tree as boxes: a box is as wide as the nodes below it
  function drawIcicle() {
    const f1 = figures().f1, width = 1100, tall = 30;
    const weight = new Array(all.length).fill(0);
    for (let node = all.length - 1; node >= 0; node--) {
      if (!children[node].length) weight[node] = 1;
      if (data.parent[node] >= 0) weight[data.parent[node]] += weight[node];
    }
    const whole_width = tops.reduce((sum, node) => sum + weight[node], 0) || 1;
    const drawn = [];
    let deepest = 0;
    const place = (nodes, left, row) => {
      for (const node of nodes) {
        const wide = (width * weight[node]) / whole_width;
        if (wide >= 0.75) {
          drawn.push(box(node, left, row * tall, wide, tall, f1[node]));
          deepest = Math.max(deepest, row);
          place(children[node], left, row + 1);
        }
        left += wide;
      }
    };
    place(tops, 0, 0);
    const title = make("svg:title", {}, `The taxonomy, boxes coloured by F1 of ${focus.value}`);
    const height = (deepest + 1) * tall;
    by("icicle").replaceChildren(
      make("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, title, ...drawn.flat()));
  }

  function box(node, x, y, wide, tall, f1) {
    const words = `${data.labels[node]}: F1 ${share(f1)}, ${whole(data.test[node])} test documents`;
    const rect = make("svg:rect", { x, y, width: wide, height: tall, class: colour(f1) }, make("svg:title", {}, words));
    const fits = Math.floor((wide - 8) / 6.2);
    if (fits < 3) return [rect];
    const label = data.labels[node];
    const text = label.length > fits ? label.slice(0, fits - 1) + "…" : label;
    return [rect, make("svg:text", { x: x + 5, y: y + tall / 2 + 4, class: colour(f1) }, text)];
  }

  // the tree as a list that opens; branches are made when they are first opened
  function row(node) {
    const line = make("span", { class: "row" }, make("i"), make("span", {}, data.labels[node]), make("small"));
    line.dataset.node = node;
    return paint(line);
  }

  function paint(line) {
    const node = Number(line.dataset.node), f1 = figures().f1[node];
    line.firstChild.className = colour(f1);
    line.lastChild.textContent = `${share(f1)} · ${whole(data.test[node])} test, ${whole(data.train[node])} training`;
    return line;
  }

  function branch(nodes) {
    return make("ul", {}, ...nodes.map((node) => {
      if (!children[node].length) return make("li", { class: "leaf" }, row(node));
      const details = make("details", {}, make("summary", {}, row(node)));
      details.addEventListener("toggle", () => fill(details, node));
      details.dataset.branch = node;
      return make("li", {}, details);
    }));
  }

  function fill(details, node) {
    if (details.open && details.children.length === 1) details.append(branch(children[node]));
  }

  const colourTree = () => document.querySelectorAll("#tree .row").forEach(paint);
  by("tree").append(branch(tops));
  const roots = by("tree").querySelectorAll(":scope > ul > li > details");
  if (roots.length && roots.length <= 3) roots.forEach((details) => { details.open = true; });

  function openAll(place) {
    for (const details of place.querySelectorAll("details")) {
      if (details.open) continue;
      details.open = true;
      fill(details, Number(details.dataset.branch));
      openAll(details);
    }
  }
  by("tree-open").addEventListener("click", () => openAll(by("tree")));
  by("tree-close").addEventListener("click", () => {
    document.querySelectorAll("#tree details").forEach((details) => { details.open = false; });
  });

  // the table of nodes
  const columns = [
    ["node", (node) => data.labels[node], "first words"],
    ["level", (node) => data.level[node]],
    ["training", (node) => data.train[node]],
    ["test", (node) => data.test[node]],
    ["precision", (node) => figures().precision[node], "share"],
    ["recall", (node) => figures().recall[node], "share"],
    ["F1", (node) => figures().f1[node], "share bar"],
  ];
  if (data.flat && data.models[data.flat]) columns.push(["to flat", toFlat, "change"]);

  function toFlat(node) {
    const here = figures().f1[node], flat = data.models[data.flat].f1[node];
    return here < 0 || flat < 0 ? null : here - flat;
  }

  const heads = columns.map(([name, , kind = ""]) => make(
    "th", { scope: "col", "aria-sort": "none", class: kind.includes("first") ? "first words" : "" },
    make("button", { type: "button" }, name)));
  const body = make("tbody");
  const caption = make("caption");
  const table = make("table", { id: "nodes-table" }, caption, make("thead", {}, make("tr", {}, ...heads)), body);
  const more = make("button", { type: "button", class: "more", id: "more" });
  by("node-table").append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table of nodes" }, table),
    make("p", { class: "controls" }, more));
  let sorting = 3, direction = -1, limit = ROWS;
  heads[sorting].setAttribute("aria-sort", "descending");

  function fillTable() {
    const wanted = by("filter").value.trim().toLowerCase(), least = Number(by("least").value) || 0;
    const kept = all.filter((node) => data.test[node] >= least && (!wanted || searched[node].includes(wanted)));
    const value = columns[sorting][1], isShare = (columns[sorting][2] ?? "").includes("share");
    const sorted = ordered(kept, (node) => (isShare && value(node) < 0 ? null : value(node)), direction);
    const shown = sorted.slice(0, limit);
    body.replaceChildren(...shown.map(nodeRow));
    caption.textContent = `Nodes, figures of ${focus.value}`;
    by("shown").textContent = `${whole(kept.length)} of ${whole(all.length)} nodes`;
    more.hidden = kept.length <= limit;
    more.textContent = `Show ${whole(Math.min(MORE, kept.length - limit))} more`;
  }

  function nodeRow(node) {
    const cells = columns.map(([, value, kind = ""], place) => {
      const found = value(node);
      if (!place) return make("th", { scope: "row", title: data.names[node] }, found, pathOf(node));
      if (kind === "change") return change(found);
      if (!kind) return make("td", {}, whole(found));
      return make("td", {}, share(found), ...(kind.includes("bar") ? [bar(found)] : []));
    });
    return make("tr", {}, ...cells);
  }

  const pathOf = (node) => make("span", { class: "path" }, paths[node]);

  function bar(value) {
    const filled = make("i", { class: colour(value), style: `width:${Math.max(0, value) / 10}%` });
    return make("span", { class: "share", "aria-hidden": "true" }, filled);
  }

  function change(value) {
    if (value === null) return make("td", {}, "–");
    const sign = value > 0 ? "+" : value < 0 ? "−" : "";
    return make("td", { class: value > 0 ? "up" : value < 0 ? "down" : "" }, sign + (Math.abs(value) / 1000).toFixed(3));
  }

  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th[aria-sort]");
    if (!head) return;
    sorting = head.cellIndex;
    direction = turn(head);
    limit = ROWS;
    fillTable();
  });
  more.addEventListener("click", () => { limit += MORE; fillTable(); });
  for (const id of ["filter", "least"]) by(id).addEventListener("input", () => { limit = ROWS; fillTable(); });

  // confused siblings
  function fillConfusion() {
    const found = figures().confusion;
    if (!found.length) {
      by("confusion").replaceChildren(make("p", { class: "note" }, "No sibling was taken for another."));
      return;
    }
    const names = ["belongs to", "was answered with", "under", "documents", "share of its test documents"];
    const top = make("tr", {}, ...names.map((name, place) => make(
      "th", { scope: "col", "aria-sort": "none", class: place < 3 ? "words" : "" }, make("button", { type: "button" }, name))));
    const rows = found.map(([gold, answered, n]) => make("tr", {},
      make("th", { scope: "row" }, data.labels[gold]), make("td", { class: "words" }, data.labels[answered]),
      make("td", { class: "words" }, paths[gold]), make("td", {}, whole(n)),
      make("td", {}, data.test[gold] ? (n / data.test[gold]).toFixed(3) : "–")));
    const made = make("table", {}, make("caption", {}, `Most frequent first, answers of ${focus.value}`),
      make("thead", {}, top), make("tbody", {}, ...rows));
    sortable(made);
    by("confusion").replaceChildren(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table of siblings" }, made));
  }

  show();
})();
