// Keeps the page for use without a network. What is newer on the server is taken when the server answers.
const PAGE = "vifo-page";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const ours = event.request.method === "GET" && new URL(event.request.url).origin === self.location.origin;
  if (ours) event.respondWith(answer(event.request));
});

async function answer(request) {
  const kept = await caches.open(PAGE);
  try {
    const fresh = await fetch(request);
    if (fresh.ok) await kept.put(request, fresh.clone());
    return fresh;
  } catch (e) {
    const old = await kept.match(request, { ignoreSearch: true });
    if (old) return old;
    throw e;
  }
}
