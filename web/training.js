// The program once more, beside the page: it trains while the page draws and listens.
import start, * as vifo from "./vifo.js";

function end(words) {
  postMessage({ ended: words });
  close();
}

// The words of a bug of ours go to the page.
const said = console.error;
console.error = (...all) => {
  said(...all);
  const text = String(all[0]);
  if (text.includes("panicked at")) end(text.split("\nStack:")[0]);
};

// Turns follow each other as messages do: commands come between them. A turn that waits for a GPU is a promise, and what is heard
// meanwhile comes after it.
const { port1, port2 } = new MessageChannel();
let { turn, finish } = vifo;
let asked = false, busy = false, timer;
const heard = [];
function soon() {
  if (asked) return;
  asked = true;
  clearTimeout(timer);
  port2.postMessage(null);
}

// Calls the program, and nothing of it besides before it has returned.
async function alone(call, then) {
  busy = true;
  try {
    const found = await call();
    busy = false;
    then(found);
  } catch (e) {
    end(String(e));
  }
}

port1.onmessage = () => {
  asked = false;
  if (!busy) alone(turn, rested);
};

function rested(rest) {
  heard.splice(0).forEach(take);
  if (rest === 0) soon();
  else if (rest > 0 && !asked) timer = setTimeout(soon, rest);
}

function take(data) {
  if (busy) return heard.push(data);
  if (data.close) return alone(finish, () => end("as asked"));
  if (data.taken) vifo.taken();
  else vifo.hear(data.message, data.paths, data.files, data.times, data.locked);
  soon();
}

async function begin(program) {
  try {
    const made = await start({ module_or_path: program });
    // By names that wasm-bindgen keeps: what it makes of them would stand between the program and its caller.
    if (WebAssembly.Suspending) {
      [turn, finish] = [made.turn, made.finish].map((call) => WebAssembly.promising(call));
      vifo.may_wait();
    }
    // For tests.
    Object.assign(self, { vifo, memory: made.memory });
    postMessage({ ready: true });
  } catch (e) {
    end(String(e));
  }
}

onmessage = ({ data }) => (data.program ? begin(data.program) : take(data));
