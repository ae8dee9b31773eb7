// page.js FOLDER VIFO OUT: the page of FOLDER in Chromium, its numbers beside those of the program VIFO; pictures go to OUT.
const fs = require("fs"), path = require("path");
const { execFileSync, spawnSync } = require("child_process");
const { begin, drop: drop_on, wait } = require("./browser.js");
const training = require("./training.js"), gpu = require("./gpu.js");
const [folder, vifo, out] = process.argv.slice(2).map((p) => path.resolve(p));

let failed = 0;
function check(what, holds, found) {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}${found === undefined ? "" : ": " + JSON.stringify(found)}`);
  if (!holds) failed += 1;
}

(async () => {
  const { launch, open, said, cut, end } = await begin(folder);
  await launch();

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
    const { cut: broken_off, table } = await training({ open, drop: drop_on, check, out });
    const rest = path.join(out, "cut");
    fs.rmSync(rest, { recursive: true, force: true });
    fs.mkdirSync(rest);
    fs.writeFileSync(path.join(rest, "run.zip"), broken_off);
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

    // Pictures of the examples come when they are looked at.
    const cards = await open();
    const fetched = () => cards.evaluate(() => performance.getEntriesByType("resource").filter((e) => e.name.includes("/gallery/")).length);
    const before_them = await fetched();
    await cards.act("tab", "Examples");
    for (let i = 0; i < 100 && (await fetched()) < 10; i++) await wait(100);
    check("the examples' pictures are fetched when their page is opened", before_them === 0 && (await fetched()) === 10, [before_them, await fetched()]);
    await wait(1000);
    await cards.screenshot({ path: path.join(out, "examples.png") });
    await cards.close();

    // Without a network, after one visit.
    await launch();
    const offline = await open();
    const listed = JSON.parse(fs.readFileSync(path.join(folder, "files.json"), "utf8")).length;
    const kept = () => offline.evaluate("caches.open('vifo-page').then((all) => all.keys()).then((all) => all.length)");
    for (let i = 0; i < 200 && (await kept()) < listed; i++) await wait(100);
    cut(true);
    await offline.reload();
    await offline.waitForFunction("window.loaded !== undefined", { timeout: 60000 }).catch(() => {});
    await offline.waitForFunction("vifo.state().includes('frames')", { timeout: 60000 });
    check("it opens without a network", (await offline.evaluate("window.loaded")) !== undefined);
    check("it trains there", await offline.until("steps", (s) => s.step > 20));
    check("and has its pictures", await offline.evaluate("fetch('gallery/gap.png').then((a) => a.ok, () => false)"));
    check("no error at the end", said.filter((t) => !t.includes("net::ERR_")).length === 0, said);
    await offline.close();
    cut(false);

    // Where there is no WebGPU, as so far, that is said to whoever asks for it.
    const none = await open();
    await none.act("play", 'device = "gpu"\n');
    check("a page without WebGPU says so", await none.until("its words", (s) => s.said.some((t) => t.includes("WebGPU"))), (await none.state()).said);
    await none.close();
    await launch("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan");
    await gpu({ open, check, out });
  } finally {
    await end();
  }
  console.log(failed ? `${failed} failed` : "all hold");
  process.exit(failed ? 1 : 0);
})().catch((e) => { console.error(e); process.exit(1); });
