// soak.js FOLDER OUT MINUTES: memory of the page and of the programs beside it while the playground trains, with a click every ten
// seconds and another page in front now and then.
const { begin, wait } = require("./browser.js");
const path = require("path");
const folder = path.resolve(process.argv[2]);
const minutes = Number(process.argv[4] ?? 30);
// A row of the curves per step, as many steps as it can in the first two minutes: what is kept of a training of any length (20,000 rows, 200
// moments, the pictures of a minute) is full by then, and nothing may grow after minute 4.
const recipe = "[train]\nepochs = 100000000\nevaluate_every = 1\n";

(async () => {
  const { launch, open, said, end } = await begin(folder);
  await launch();
  const page = await open();
  await page.act("play", recipe);
  await page.act("pace", "");
  await page.until("steps", (s) => s.step > 20);
  const collector = await page.createCDPSession();
  const megabytes = (bytes) => Math.round(bytes / 104857.6) / 10;
  // What WebAssembly holds, and JavaScript after it has tidied up, MiB; of each program.
  async function held() {
    await collector.send("HeapProfiler.collectGarbage");
    const programs = [page, ...(await page.programs()).values()];
    const wasm = await Promise.all(programs.map((of) => of.evaluate("memory.buffer.byteLength")));
    const heap = (await collector.send("Runtime.getHeapUsage")).usedSize;
    return { wasm: wasm.map(megabytes), script: megabytes(heap), step: (await page.state()).step };
  }
  const began = Date.now();
  const at = [];
  const note = async () => {
    const found = { minute: Math.round((Date.now() - began) / 6000) / 10, ...(await held()) };
    at.push(found);
    console.log(JSON.stringify(found));
  };
  await wait(15000);
  await note();
  const tabs = ["Playground", "Examples", "Playground", "Recipe", "Playground", "Runs"];
  for (let i = 0, next = 4; Date.now() - began < minutes * 60000; i++) {
    await wait(10000);
    if (i === 12) await page.act("pace", "300");
    if (i % 6 === 0) await page.act("tab", tabs[(i / 6) % tabs.length]);
    else if (i % 6 === 3) await page.act("tab", "Playground");
    else if (i % 12 === 4) await page.mouse.click(700 + (i % 50), 330);
    if ((Date.now() - began) / 60000 >= next) {
      await note();
      next += next === 4 ? 1 : 5;
    }
  }
  await note();
  const settled = at.find((a) => a.minute >= 3.9) ?? at[0], last = at[at.length - 1];
  const flat = last.wasm.every((m, i) => m <= (settled.wasm[i] ?? m) + 8) && last.script <= settled.script + 8;
  console.log(flat ? "flat" : "it grows", said.length ? said : "");
  await end();
  process.exit(flat && !said.length ? 0 : 1);
})().catch((e) => { console.error(e); process.exit(1); });
