// Programs beside the page's own, each in a worker (training.js): what goes to them and comes from them.

// Starts one; undefined where a page can have none, and where a test wants none.
export function begin(name, program, ready, told, ended) {
  if (new URLSearchParams(location.search).get("worker") === "off") return undefined;
  let worker;
  try {
    worker = new Worker("training.js", { type: "module", name });
  } catch {
    return undefined;
  }
  worker.onmessage = ({ data }) => {
    if (data.ready) ready();
    else if (data.ended !== undefined) ended(data.ended);
    else told(data.message, data.paths, data.files, data.times, data.locked);
  };
  // What is not caught there: no memory left, or a browser that knows no modules in workers.
  worker.onerror = (e) => {
    e.preventDefault();
    worker.terminate();
    ended(e.message || "it could not be loaded");
  };
  worker.postMessage({ program });
  return worker;
}

// Bytes move; they are not copied.
export function post(to, message, paths, files, times, locked) {
  const moved = [message, ...files].filter((part) => part instanceof Uint8Array).map((part) => part.buffer);
  to.postMessage({ message, paths, files, times, locked }, moved);
}

export function taken(from) {
  from.postMessage({ taken: true });
}

export function close(worker) {
  worker.postMessage({ close: true });
}
