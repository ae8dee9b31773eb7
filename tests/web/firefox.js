// firefox.js FOLDER OUT: the page in Firefox: that it starts, trains on the CPU, takes a click, says that there is no GPU; a picture.
const path = require("path");
const { begin, firefox, wait } = require("./browser.js");
const [folder, out] = process.argv.slice(2, 4).map((p) => path.resolve(p));

let failed = 0;
function check(what, holds, found) {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}${found === undefined ? "" : ": " + JSON.stringify(found)}`);
  if (!holds) failed += 1;
}

(async () => {
  const { launch, open, said, end } = await begin(folder, firefox());
  const browser = await launch();
  console.log(await browser.version());
  const page = await open();
  check("it trains by itself", await page.until("steps", (s) => s.step > 300, 120000), (await page.state()).step);
  const knows = await page.evaluate("[typeof WebAssembly.Suspending, typeof navigator.gpu]");
  check("on the CPU", (await page.state()).device.startsWith("CPU"), knows);
  const before = (await page.state()).points;
  await page.mouse.click(827, 330);
  check("a click adds a point", await page.until("a point", (s) => s.points === before + 1), before);
  await wait(3000);
  await page.screenshot({ path: path.join(out, "firefox.png") });
  if (knows[1] === "undefined") {
    await page.act("play", 'device = "gpu"\n');
    check("without WebGPU it says so", await page.until("its words", (s) => s.said.some((t) => t.includes("WebGPU"))), (await page.state()).said);
  }
  check("no page of trouble", await page.$eval("#trouble", (e) => e.hidden), said);
  await end();
  process.exit(failed ? 1 : 0);
})().catch((e) => { console.error(e); process.exit(1); });
