// Requests to the service. A failure is an ApiError: `away` when the server could not be reached.

export class ApiError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
    this.away = status === 0 || status === 502 || status === 503 || status === 504;
  }
}

const TOKEN = "linnaeus-desk/token";
const stores = () => [sessionStorage, localStorage];
const token = () => stores().map((s) => s.getItem(TOKEN)).find(Boolean) || "";
export const signedIn = () => Boolean(token());

export function setToken(value, keep) {
  forgetToken();
  (keep ? localStorage : sessionStorage).setItem(TOKEN, value);
}

export function forgetToken() {
  for (const store of stores()) store.removeItem(TOKEN);
}

const withToken = () => (token() ? { Authorization: `Bearer ${token()}` } : {});

export async function request(path, { method = "GET", query = {}, body, timeout = 30000, signal, keepalive = false } = {}) {
  const url = new URL(`/api/v1/${path}`, location.origin);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one != null && one !== "") url.searchParams.append(name, one);
  }
  const stop = AbortSignal.timeout(timeout);
  const options = { method, keepalive, signal: signal ? AbortSignal.any([signal, stop]) : stop, headers: withToken() };
  if (body instanceof Blob) {
    options.headers["Content-Type"] = "application/octet-stream";
    options.body = body;
  } else if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (signal && signal.aborted) throw error;
    throw new ApiError("The server cannot be reached.");
  }
  let answer = null;
  try {
    answer = await response.json();
  } catch {
    if (response.ok) throw new ApiError("The answer of the server is not JSON.", response.status);
  }
  if (response.status === 401) dispatchEvent(new CustomEvent("signed-out", { detail: answer && answer.detail }));
  if (!response.ok) throw new ApiError((answer && answer.detail) || `The server answered ${response.status}.`, response.status);
  return answer;
}

// A file of the service, which a plain link could not ask for with a token.
export async function download(path, name) {
  const response = await fetch(`/api/v1/${path}`, { headers: withToken() }).catch(() => null);
  if (!response) throw new ApiError("The server cannot be reached.");
  if (!response.ok) throw new ApiError((await response.json().catch(() => ({}))).detail || `The server answered ${response.status}.`, response.status);
  const named = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") || "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = named ? named[1] : name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

const get = (path, query, more) => request(path, { query, ...more });
const post = (path, body, more) => request(path, { method: "POST", body, ...more });


// A model and the taxonomy of its answers; children and nodes are asked for once.
export class Model {
  constructor(about) {
    this.about = about;
    this.name = about.name;
    this.path = `models/${encodeURIComponent(about.name)}`;
    this.single = Boolean(about.properties && about.properties.one_label_per_document);
    this.kept = new Map();
  }

  once(key, make) {
    if (!this.kept.has(key)) {
      const made = make();
      this.kept.set(key, made);
      made.catch(() => this.kept.delete(key));
    }
    return this.kept.get(key);
  }

  taxonomy() {
    return this.once("taxonomy", () => get(`${this.path}/taxonomy`));
  }

  // All children of a node, or all nodes at the top for null.
  children(node) {
    return this.once(`children ${node}`, async () => {
      const found = [];
      for (let offset = 0; offset != null; ) {
        const page = await get(`${this.path}/taxonomy/${node == null ? "tops" : "children"}`, { node, offset, limit: 1000 });
        found.push(...page.nodes);
        offset = page.next_offset;
      }
      return found;
    });
  }

  node(node) {
    return this.once(`node ${node}`, () => get(`${this.path}/taxonomy/node`, { node }));
  }

  paths(node) {
    return this.once(`paths ${node}`, () => get(`${this.path}/taxonomy/paths`, { node }).then((a) => a.paths));
  }

  // Paths to each of several nodes, at most five of each.
  async pathsOf(labels) {
    if (!labels.length) return [];
    return (await request("desk/paths", { query: { node: labels } })).paths;
  }

  search(q, signal) {
    return get(`${this.path}/taxonomy/search`, { q, limit: 12 }, { signal }).then((a) => a.matches);
  }

  top(document, k) {
    const probabilities = this.about.can.probabilities;
    return post(`${this.path}/top`, { documents: [document], k, probabilities }).then((a) => a.results[0]);
  }

  predict(document) {
    return post(`${this.path}/predict`, { documents: [document], closed: false }).then((a) => a.results[0].labels);
  }

  probabilities(document, nodes) {
    return post(`${this.path}/probabilities`, { documents: [document], nodes }).then((a) => a.results[0].probabilities);
  }

  explain(document, node) {
    return post(`${this.path}/explain`, { document, node, k: 12, neighbours: 4 }).then((a) => a.nodes);
  }
}

export const desk = {
  about: () => get("desk"),
  next: (query) => get("queue/next", query),
  release: (body) => post("queue/release", body, { keepalive: true }).catch(() => {}),
  documents: (query) => get("documents", query),
  document: (id) => get("documents/one", { id }),
  verdicts: (verdicts) => post("verdicts", { verdicts }),
  upload: (as, file, coder) => request(`${as}/file`, { method: "POST", query: { name: file.name, coder: as === "verdicts" ? coder : null }, body: file, timeout: 600000 }),
  progress: () => get("progress"),
  automatic: (query) => get("automatic", query, { timeout: 120000 }),
  codeAutomatically: (body) => post("automatic", body, { timeout: 600000 }),
  undoAutomatic: (body) => post("automatic/undo", body, { timeout: 600000 }),
  assignments: () => get("desk/assignments"),
  assign: (body) => post("desk/assignments", body),
  drift: (query) => get("desk/drift", query, { timeout: 120000 }),
  versions: (name) => get(`models/${encodeURIComponent(name)}/versions`),
  promote: (name, body) => post(`models/${encodeURIComponent(name)}/promote`, body, { timeout: 120000 }),
  refit: (name) => post(`models/${encodeURIComponent(name)}/refit`, {}),
  recalibrate: (name) => post(`models/${encodeURIComponent(name)}/recalibrate`),
  jobs: () => get("jobs", { limit: 20 }),
  pictures: () => get("desk/pictures"),
  training: () => get("desk/training"),
  train: () => post("desk/training"),
  proposals: () => get("desk/proposals"),
  propose: (body) => post("desk/proposals", body),
};
