// A program that waits is set aside by the browser (JavaScript Promise Integration). Where that is unknown it is never asked for.
let go, woken = false;

function waited(milliseconds) {
  return new Promise((done) => {
    const timer = setTimeout(() => go?.(), milliseconds);
    go = () => {
      clearTimeout(timer);
      go = undefined;
      woken = false;
      done();
    };
    if (woken) go();
  });
}

export const wait = WebAssembly.Suspending ? new WebAssembly.Suspending(waited) : () => {};

export function wake() {
  if (go) go();
  else woken = true;
}
