// Runs the tests of lib.rs and posts what each found.
import start, * as parity from "./vifo_parity.js";

const made = await start({ module_or_path: new URL("vifo_parity_bg.wasm", import.meta.url) });
parity.parity_may_wait();
const found = {};
await WebAssembly.promising(made.parity_kernels)();
found.kernels = parity.parity_said();
await WebAssembly.promising(made.parity_steps)(10);
found.steps = parity.parity_said();
postMessage(found);
