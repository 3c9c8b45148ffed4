// The files of the desk for a page that is loaded while the server is away. Data are never kept here.
const CACHE = "linnaeus-desk";
const own = (url) => url.origin === location.origin && url.pathname.startsWith(new URL("./", location.href).pathname);

async function keepAll() {
  const page = await (await fetch("./", { cache: "no-cache" })).text();
  const names = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map((found) => found[1]);
  const cache = await caches.open(CACHE);
  await cache.addAll(["./", ...new Set(names)]);
}

async function answer(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}

addEventListener("install", (event) => event.waitUntil(keepAll().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (event.request.method === "GET" && own(new URL(event.request.url))) event.respondWith(answer(event.request));
});
