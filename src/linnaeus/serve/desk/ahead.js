// What a page needs to continue while the server is away: what the service said about itself, and the documents that were
// fetched ahead. Kept in localStorage as long as these documents have no verdict.
const PREFIX = "linnaeus-desk/ahead/";

function write(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    localStorage.removeItem(PREFIX + name); // no room: the page only continues as long as it is open
  }
}

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

export const keepAbout = (about) => write("about", about);
export const keptAbout = () => read("about");

// Documents with their paths and scores; maps become lists of pairs.
export function keepDocuments(coder, fingerprint, items) {
  const flat = items.map((item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, value instanceof Map ? { pairs: [...value] } : value])));
  write("documents", { coder, fingerprint, items: flat });
}

export function keptDocuments(coder, fingerprint) {
  const found = read("documents");
  if (!found || found.coder !== coder || found.fingerprint !== fingerprint) return [];
  return found.items.map((item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, value && value.pairs ? new Map(value.pairs) : value])));
}

// Nothing of the documents stays after signing out.
export function forget() {
  for (const name of ["about", "documents"]) localStorage.removeItem(PREFIX + name);
}
