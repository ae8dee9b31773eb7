// speed.js FOLDER OUT PAIRS [VIFO]: a step of the toy (VIFO-mean with 100 auxiliary rows), in turn by the page's program in Chromium and by
// the program VIFO on one thread; then in the playground, beside the page.
const path = require("path");
const { execFileSync } = require("child_process");
const { begin, wait } = require("./browser.js");
const folder = path.resolve(process.argv[2]);
const pairs = Number(process.argv[4] ?? 15), vifo = path.resolve(process.argv[5] ?? "target/release/vifo");
const sorted = (all) => all.slice().sort((a, b) => a - b);
const at = (all, share) => sorted(all)[Math.min(all.length - 1, Math.floor(share * all.length))];
const words = (all, digits) => `${at(all, 0.5).toFixed(digits)} (quartiles ${at(all, 0.25).toFixed(digits)}..${at(all, 0.75).toFixed(digits)})`;

(async () => {
  const { launch, open, end } = await begin(folder);
  await launch();
  const page = await open("", { width: 420, height: 320 });
  await page.act("toggle");
  await wait(1000);
  const step = async () => JSON.parse(await page.evaluate(`vifo.train("sinusoid", "[train]\\nevaluate_every = 100000\\n", 500)`)).ms;
  const native = () => {
    const env = { ...process.env, RAYON_NUM_THREADS: "1" };
    const said = execFileSync(vifo, ["bench", "--only", "toy_vifo_aux", "--seconds", "0.3", "--json"], { env, encoding: "utf8" });
    return JSON.parse(said.trim().split("\n").pop()).timings[0].median_ms;
  };
  console.log(execFileSync(vifo, ["doctor"], { encoding: "utf8" }).split("\n")[0]);
  await step();
  const found = [];
  for (let i = 0; i < pairs; i++) found.push([await step(), native()]);
  console.log("the page, ms a step:", words(found.map((f) => f[0]), 3));
  console.log("the program, ms a step:", words(found.map((f) => f[1]), 3));
  console.log("page / program, medians of pairs:", words(found.map((f) => f[0] / f[1]), 2));
  await page.act("play", "[train]\nepochs = 1000000\nevaluate_every = 100000\n");
  await page.act("pace", "");
  await page.until("steps", (s) => s.state === "Running" && s.step > 1000, 120000);
  await wait(4000);
  console.log("in the playground, steps per second:", Math.round((await page.state()).steps_per_second));
  await end();
})().catch((e) => { console.error(e); process.exit(1); });
