// Keeps the page for use without a network. What is newer on the server is taken when the server answers.
const PAGE = "vifo-page";

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(keep_all());
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const ours = event.request.method === "GET" && new URL(event.request.url).origin === self.location.origin;
  if (ours) event.respondWith(answer(event.request));
});

// All that web/build has listed, from the first visit on. What cannot be fetched now is kept when it is next asked for.
async function keep_all() {
  const kept = await caches.open(PAGE);
  const files = await fetch("files.json").then((list) => list.json()).catch(() => []);
  await Promise.allSettled(files.map((file) => kept.add(file)));
}

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
