// Files of the page in the browser's storage (IndexedDB): one record per file, named by its path.
const FILES = "files";
let base;

function opened() {
  base ??= new Promise((done, failed) => {
    const asked = indexedDB.open("vifo", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(FILES);
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => failed(asked.error);
  });
  return base;
}

// All that is kept: [path, bytes, milliseconds since 1970] each.
export async function load_all() {
  const store = (await opened()).transaction(FILES).objectStore(FILES);
  const all = (asked) => new Promise((done, failed) => {
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => failed(asked.error);
  });
  const [paths, files] = await Promise.all([all(store.getAllKeys()), all(store.getAll())]);
  return paths.map((path, i) => [path, files[i].bytes, files[i].modified]);
}

// Writes and removes in one transaction, so that a page that is closed keeps all of it or none. `bytes` null = remove. The storage copies
// what it is given, for which a page would stand still where that is much: then a worker does it, which is this file once more.
const MUCH = 4e6, NAME = "vifo storage";
let writer;

export async function keep_all(paths, all) {
  const files = all.filter((bytes) => bytes);
  if (files.reduce((sum, bytes) => sum + bytes.length, 0) < MUCH) return write(paths, all);
  const worker = await (writer ??= started());
  if (!worker) return write(paths, all);
  return new Promise((done, failed) => {
    worker.onmessage = ({ data }) => (data.failed ? failed(new Error(data.failed)) : done());
    worker.onerror = (e) => failed(new Error(e.message || "it has ended"));
    worker.postMessage({ paths, all }, files.map((bytes) => bytes.buffer));
  });
}

// Undefined where there can be none.
function started() {
  return new Promise((done) => {
    try {
      const worker = new Worker(import.meta.url, { type: "module", name: NAME });
      worker.onmessage = () => done(worker);
      worker.onerror = (e) => (e.preventDefault(), done(undefined));
    } catch {
      done(undefined);
    }
  });
}

if (typeof window === "undefined" && self.name === NAME) {
  self.onmessage = ({ data }) =>
    write(data.paths, data.all).then(() => self.postMessage({}), (e) => self.postMessage({ failed: String(e?.message ?? e) }));
  self.postMessage({});
}

async function write(paths, all) {
  const transaction = (await opened()).transaction(FILES, "readwrite");
  const store = transaction.objectStore(FILES);
  paths.forEach((path, i) => {
    if (all[i]) store.put({ bytes: all[i], modified: Date.now() }, path);
    else store.delete(path);
  });
  await new Promise((done, failed) => {
    transaction.oncomplete = done;
    transaction.onerror = () => failed(transaction.error);
    transaction.onabort = () => failed(transaction.error);
  });
}

// The bytes of a file that lies beside the page.
export async function fetched(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

// Hands a file to the user.
export function download(name, bytes, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// Opens a file in a tab of its own.
export function show(bytes, type) {
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  window.open(address, "_blank");
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
