// page.js FOLDER VIFO OUT: the page of FOLDER in Chromium, its numbers beside those of the program VIFO; pictures go to OUT.
const http = require("http"), fs = require("fs"), path = require("path"), os = require("os");
const { execFileSync, spawnSync } = require("child_process");
const puppeteer = require("puppeteer-core");
const training = require("./training.js"), gpu = require("./gpu.js");
const [folder, vifo, out] = process.argv.slice(2).map((p) => path.resolve(p));

const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".png": "image/png", ".webmanifest": "application/manifest+json" };
const server = http.createServer((asked, answer) => {
  const file = path.join(folder, decodeURIComponent(asked.url.split(/[?#]/)[0]).replace(/\/$/, "/index.html"));
  if (!file.startsWith(folder) || !fs.existsSync(file)) { answer.writeHead(404); return answer.end(); }
  answer.writeHead(200, { "content-type": types[path.extname(file)] || "application/octet-stream" });
  fs.createReadStream(file).pipe(answer);
});

let failed = 0;
function check(what, holds, found) {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}${found === undefined ? "" : ": " + JSON.stringify(found)}`);
  if (!holds) failed += 1;
}
const drop_on = (page, name, bytes) => page.evaluate((name, text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], name));
  const canvas = document.getElementById("vifo");
  for (const kind of ["dragenter", "dragover", "drop"]) canvas.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}, name, bytes.toString("base64"));
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

(async () => {
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${server.address().port}/`;
  const homes = [];
  // The browser calls nobody but the page.
  const flags = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
  const launch = (...more) => {
    homes.push(fs.mkdtempSync(path.join(os.tmpdir(), "vifo-page-")));
    return puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, userDataDir: homes[homes.length - 1], args: [...flags, ...more] });
  };
  const browsers = [await launch()];
  const said = [];
  async function open(rest = "", size = { width: 1280, height: 800 }, before = undefined) {
    const page = await browsers[browsers.length - 1].newPage();
    if (before) await page.evaluateOnNewDocument(before);
    await page.setViewport(size);
    page.on("console", (m) => { if (m.type() === "error") said.push(m.text()); });
    page.on("pageerror", (e) => said.push(String(e)));
    const began = Date.now();
    await page.goto(address + rest);
    await page.waitForFunction("window.loaded !== undefined", { timeout: 120000 });
    await page.waitForFunction("vifo.state().includes('frames')", { timeout: 120000 });
    page.began = Date.now() - began;
    page.act = (what, having = "") => page.evaluate((what, having) => vifo.act(what, having), what, having);
    page.state = async () => JSON.parse(await page.evaluate("vifo.state()"));
    page.until = async (words, test, ms = 60000) => {
      for (const end = Date.now() + ms; Date.now() < end; await wait(100)) if (test(await page.state())) return true;
      console.log("waited for", words, "in vain:", await page.state());
      return false;
    };
    return page;
  }

  try {
    const page = await open();
    check("first frame within 10 s", page.began < 10000, page.began);
    check("it trains by itself", await page.until("steps", (s) => s.step > 50));
    await page.screenshot({ path: path.join(out, "playground.png") });
    check("the picture is not blank", fs.statSync(path.join(out, "playground.png")).size > 30000);
    check("no page of trouble", await page.$eval("#trouble", (e) => e.hidden));

    const before = await page.state();
    // Between the two clouds, where no point can be grabbed.
    await page.mouse.click(827, 330);
    check("a click adds a point", await page.until("a point", (s) => s.points === before.points + 1), before.points);

    // The same recipe by the program: no fused multiply-add in a browser, so the paths part slowly.
    const [steps, name] = [300, "sinusoid"];
    const once = JSON.parse(await page.evaluate(`vifo.train("${name}", "", ${steps})`));
    const again = JSON.parse(await page.evaluate(`vifo.train("${name}", "", ${steps})`));
    check("the same training twice gives the same bits", once.last[1] === again.last[1], once);
    const run = path.join(out, "native");
    execFileSync(vifo, ["fit", name, "--device", "cpu", "--epochs", String(steps), "--out", run, "--force", "--quiet"], { stdio: "pipe" });
    const rows = fs.readFileSync(path.join(run, "metrics.csv"), "utf8").trim().split("\n").map((l) => l.split(","));
    const column = (name) => rows[0].indexOf(name);
    const native = rows.slice(1).find((r) => Number(r[column("step")]) === once.last[0]);
    const loss = Number(native[column("loss_nats")]);
    check("its loss is the program's within 1 %", Math.abs(once.last[1] - loss) < 0.01 * Math.abs(loss), [once.last[1], loss]);

    // A run of the program, dropped as a zip, and handed back.
    const drop = (name, file) => drop_on(page, name, fs.readFileSync(file));
    const flowers = path.join(out, "flowers");
    execFileSync(vifo, ["fit", "assets/data/iris_named.csv", "--target", "species", "--budget", "1s", "--device", "cpu", "--out", flowers, "--force", "--quiet"], { stdio: "pipe" });
    fs.rmSync(flowers + ".zip", { force: true });
    execFileSync("python3", ["-m", "zipfile", "-c", flowers + ".zip", flowers]);
    await drop("flowers.zip", flowers + ".zip");
    check("a run of the program opens", await page.until("the results", (s) => s.tab === "Results"));
    await wait(2000);
    await page.screenshot({ path: path.join(out, "results.png") });
    check("without a complaint", (await page.state()).said.length === 0, (await page.state()).said);
    const packed = Buffer.from(await page.evaluate("Array.from(vifo.packed('/files/flowers/flowers'))"));
    const back = path.join(out, "back");
    fs.rmSync(back, { recursive: true, force: true });
    fs.mkdirSync(back);
    fs.writeFileSync(path.join(back, "run.zip"), packed);
    execFileSync("python3", ["-m", "zipfile", "-e", path.join(back, "run.zip"), back]);
    execFileSync(vifo, ["predict", path.join(back, "flowers"), "assets/data/iris_named.csv", "--out", path.join(back, "p.csv"), "--quiet"], { stdio: "pipe" });
    check("the program opens what the page hands out", fs.readFileSync(path.join(back, "p.csv"), "utf8").split("\n").length > 150);

    // A table dropped on the page.
    await drop("flowers.csv", "assets/data/iris_named.csv");
    check("a dropped table opens", await page.until("the tab", (s) => s.tab === "Data"));
    check("and lies in the page's files", (await page.evaluate("vifo.files()")).includes("/files/flowers.csv"));
    await wait(2500);
    await page.screenshot({ path: path.join(out, "data.png") });
    check("no error so far", said.length === 0, said);

    await page.close();

    // A run that the page has left unfinished goes on in the program.
    const { cut, table } = await training({ open, drop: drop_on, check, out });
    const rest = path.join(out, "cut");
    fs.rmSync(rest, { recursive: true, force: true });
    fs.mkdirSync(rest);
    fs.writeFileSync(path.join(rest, "run.zip"), cut);
    execFileSync("python3", ["-m", "zipfile", "-e", path.join(rest, "run.zip"), rest]);
    const left = fs.readdirSync(rest).map((f) => path.join(rest, f)).find((f) => fs.statSync(f).isDirectory());
    const rows_of = () => fs.readFileSync(path.join(left, "metrics.csv"), "utf8").trim().split("\n").length;
    // Its table lies elsewhere here.
    fs.writeFileSync(path.join(rest, "waves.csv"), table);
    const recipe = path.join(left, "recipe.toml");
    fs.writeFileSync(recipe, fs.readFileSync(recipe, "utf8").replace("/files/waves.csv", path.join(rest, "waves.csv")));
    const reached = rows_of();
    spawnSync(vifo, ["fit", "--resume", left, "--accept-changed", "--quiet"], { timeout: 10000, killSignal: "SIGINT" });
    check("the program goes on with a training that the page was closed on", rows_of() > reached, [reached, rows_of()]);
    said.length = 0;

    // What is kept is there when the page is opened again.
    const second = await open();
    const files = await second.evaluate("vifo.files()");
    check("files stay when the page is closed", files.includes("/files/flowers.csv"), files);
    await second.close();

    // Links.
    const gap = await open("#example=gap");
    check("a link opens its example", await gap.until("the example", (s) => s.lesson === "gap" && s.step > 20));
    await gap.screenshot({ path: path.join(out, "example.png") });
    await gap.close();
    const broken = await open("#r=AAAA");
    check("a broken link says so", (await broken.state()).said.some((t) => t.includes("was cut or changed")));
    await broken.close();

    // A phone held upright.
    const phone = await open("#example=gap&embed", { width: 390, height: 800 });
    check("it trains on a phone", await phone.until("steps", (s) => s.step > 20));
    await phone.screenshot({ path: path.join(out, "phone.png") });
    await phone.close();

    // Without storage, as in some private windows.
    const poor = await open("", undefined, "Object.defineProperty(window, 'indexedDB', { value: undefined })");
    check("it trains without storage", await poor.until("steps", (s) => s.step > 20));
    check("and says that nothing stays", (await poor.state()).said.some((t) => t.includes("the browser's storage")), (await poor.state()).said);
    await poor.close();

    // A bug of ours is told in words that can be copied.
    const bug = await open();
    said.length = 0;
    await bug.evaluate("vifo.fail()").catch(() => {});
    const words = await bug.$eval("#trouble", (e) => (e.hidden ? "" : e.textContent));
    check("a panic reaches the page with its words", words.includes("as the test asked") && words.includes("Copy"), words.slice(0, 200));
    check("and the console", said.some((t) => t.includes("as the test asked")));
    await bug.close();
    said.length = 0;

    // Without a network.
    const offline = await open();
    await wait(1500);
    await offline.setOfflineMode(true);
    await offline.reload();
    await offline.waitForFunction("window.loaded !== undefined", { timeout: 60000 }).catch(() => {});
    check("it opens without a network", (await offline.evaluate("window.loaded")) !== undefined);
    check("no error at the end", said.filter((t) => !t.includes("ERR_INTERNET_DISCONNECTED")).length === 0, said);
    await offline.close();

    // Where there is no WebGPU, as so far, that is said to whoever asks for it.
    const none = await open();
    await none.act("play", 'device = "gpu"\n');
    check("a page without WebGPU says so", await none.until("its words", (s) => s.said.some((t) => t.includes("WebGPU"))), (await none.state()).said);
    await none.close();
    browsers.push(await launch("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"));
    await gpu({ open, check, out });
  } finally {
    for (const browser of browsers) await browser.close();
    server.close();
    homes.forEach((home) => fs.rmSync(home, { recursive: true, force: true }));
  }
  console.log(failed ? `${failed} failed` : "all hold");
  process.exit(failed ? 1 : 0);
})().catch((e) => { console.error(e); process.exit(1); });
