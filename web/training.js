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

// Turns follow each other as messages do: commands come between them.
const { port1, port2 } = new MessageChannel();
let asked = false, timer;
function soon() {
  if (asked) return;
  asked = true;
  clearTimeout(timer);
  port2.postMessage(null);
}
port1.onmessage = () => {
  asked = false;
  const rest = vifo.turn();
  if (rest === 0) soon();
  else if (rest > 0) timer = setTimeout(soon, rest);
};

onmessage = async ({ data }) => {
  if (data.program) {
    try {
      const { memory } = await start({ module_or_path: data.program });
      // For tests.
      Object.assign(self, { vifo, memory });
      postMessage({ ready: true });
    } catch (e) {
      end(String(e));
    }
  } else if (data.close) {
    vifo.finish();
    end("as asked");
  } else {
    if (data.taken) vifo.taken();
    else vifo.hear(data.message, data.paths, data.files, data.times, data.locked);
    soon();
  }
};
