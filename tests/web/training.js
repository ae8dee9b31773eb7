// Training beside the page: what a click and a frame wait for, that the numbers are those of turns, files, memory, and ends of all kinds.
const fs = require("fs"), path = require("path"), zlib = require("zlib");
const { execFileSync } = require("child_process");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// Milliseconds between frames, and how much later than asked the page's thread does what is due: the middle one, the 95th of 100, the
// longest. Frames wait for the drawing as well, which here the processor does.
const smoothness = (page, seconds) => page.evaluate((seconds) => new Promise((done) => {
  const [frames, late] = [[], []];
  let last = performance.now(), due = last + 10;
  const end = last + 1000 * seconds;
  setTimeout(function look() {
    const now = performance.now();
    late.push(now - due);
    due = now + 10;
    if (now < end) setTimeout(look, 10);
  }, 10);
  const of = (all) => {
    all.sort((a, b) => a - b);
    const at = (share) => Math.round(10 * all[Math.min(all.length - 1, Math.floor(share * all.length))]) / 10;
    return { n: all.length, p50: at(0.5), p95: at(0.95), max: at(1) };
  };
  requestAnimationFrame(function frame(now) {
    frames.push(now - last);
    last = now;
    if (now < end) return requestAnimationFrame(frame);
    done({ frames: of(frames), late: of(late) });
  });
}), seconds);

// Milliseconds from a press of the mouse to the next picture, as the browser measures them: the middle and the longest of ten.
async function clicks(page) {
  await page.evaluate(() => {
    window.pressed = [];
    const noted = (list) => list.getEntries().forEach((e) => e.name === "pointerdown" && pressed.push(e.duration));
    new PerformanceObserver(noted).observe({ type: "event", durationThreshold: 16 });
  });
  for (let i = 0; i < 10; i++) {
    await page.mouse.click(210, 300);
    await wait(200);
  }
  await wait(500);
  const all = (await page.evaluate("pressed")).sort((a, b) => a - b);
  // Those below 16 ms are not told of.
  while (all.length < 10) all.unshift(16);
  return { middle: all[5], longest: all[all.length - 1] };
}

// A table of 600 rows of 8 numbers.
function waves() {
  let table = "a,b,c,d,e,f,g,y\n";
  for (let i = 0; i < 600; i++) {
    const x = Array.from({ length: 7 }, (_, j) => Math.sin(i * (j + 1.3)) * 2);
    const y = x[0] * x[1] + Math.sin(3 * x[2]) + 0.1 * Math.cos(97 * i);
    table += [...x, y].map((v) => v.toFixed(4)).join() + "\n";
  }
  return Buffer.from(table);
}

function crc(bytes) {
  let c = ~0;
  for (const b of bytes) {
    c ^= b;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  }
  return ~c >>> 0;
}

// A grey image of 8 x 8: an upright bar or a level one.
function png(upright, at) {
  const u32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32BE(n >>> 0); return b; };
  const chunk = (name, data) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    return Buffer.concat([u32(data.length), body, u32(crc(body))]);
  };
  const grey = (x, y) => ((upright ? x : y) === at ? 250 : (7 * x + 13 * y) % 40);
  const row = (y) => Buffer.from([0, ...Array.from({ length: 8 }, (_, x) => grey(x, y))]);
  const head = Buffer.concat([u32(8), u32(8), Buffer.from([8, 0, 0, 0, 0])]);
  const rows = zlib.deflateSync(Buffer.concat(Array.from({ length: 8 }, (_, y) => row(y))));
  const start = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([start, chunk("IHDR", head), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))]);
}

// The zip of a folder with one subfolder per class.
function bars(out) {
  const folder = path.join(out, "bars");
  fs.rmSync(folder, { recursive: true, force: true });
  for (const upright of [true, false]) {
    const dir = path.join(folder, upright ? "upright" : "level");
    fs.mkdirSync(dir, { recursive: true });
    for (let i = 0; i < 40; i++) fs.writeFileSync(path.join(dir, `${i}.png`), png(upright, i % 8));
  }
  fs.rmSync(folder + ".zip", { force: true });
  execFileSync("python3", ["-m", "zipfile", "-c", folder + ".zip", folder]);
  return fs.readFileSync(folder + ".zip");
}

// Returns the zip of a run that was cut off, and its table.
module.exports = async function ({ open, drop, check, out }) {
  // The same training by a program beside the page and by turns with its frames.
  const last_of = async (rest) => {
    const page = await open(rest);
    await page.act("play", "[train]\nepochs = 300\nevaluate_every = 10\n");
    await page.until("the end", (s) => s.state.startsWith("Ended"), 120000);
    const found = { programs: page.workers().length, last: (await page.state()).last };
    await page.close();
    return found;
  };
  const [beside, turns] = [await last_of(""), await last_of("?worker=off")];
  const programs = [beside.programs, turns.programs];
  check("a program beside the page trains, and none where none is wanted", programs[0] > 0 && programs[1] === 0, programs);
  const lasts = [beside.last, turns.last];
  check("both give the same bits", lasts[0] && JSON.stringify(lasts[0]) === JSON.stringify(lasts[1]), lasts);

  const trains = async (rest, epochs, size) => {
    const page = await open(rest, size);
    await drop(page, "waves.csv", waves());
    await page.until("the table", (s) => s.tab === "Data" && s.data.open);
    await page.act("train", epochs);
    await page.until("its training", (s) => s.data.last && s.data.last[0] > 0, 120000);
    return page;
  };
  // Small: here the processor draws, too, which takes a tenth of a second for a whole screen.
  const small = { width: 420, height: 320 };
  const slow = await trains("?worker=off", "100000", small);
  console.log("    by turns:", JSON.stringify([await smoothness(slow, 10), await clicks(slow)]));
  await slow.close();
  const page = await trains("", "100000", small);
  const [smooth, pressed] = [await smoothness(page, 10), await clicks(page)];
  console.log("    beside the page:", JSON.stringify([smooth, pressed]));
  check("frames come while a table trains, 95 of 100 within 150 ms", smooth.frames.p95 < 150, smooth.frames);
  check("the page's thread is late by less than 100 ms in 95 of 100", smooth.late.p95 < 100, smooth.late);
  check("a click is seen within 200 ms", pressed.middle < 200, pressed);

  // The page and the programs beside it, by name, MiB.
  const size = "memory.buffer.byteLength / 1048576";
  const held = async () => {
    const all = [["page", page], ...(await page.programs())];
    return Object.fromEntries(await Promise.all(all.map(async ([name, of]) => [name, await of.evaluate(size)])));
  };
  const before = await held();
  await wait(60000);
  const after = await held();
  check("a minute of training takes no more memory (MiB)", Object.keys(after).every((name) => after[name] <= (before[name] ?? 0) + 8), [before, after]);

  // Closed in the middle of it: the run is there, interrupted.
  await page.close();
  const again = await open();
  const files = await again.evaluate("vifo.files()");
  const run = path.dirname(files.filter((f) => f.includes("waves") && f.endsWith("manifest.json")).pop() ?? "");
  await again.act("results", run);
  const word = (s) => s.results && s.results[0] === run && s.results[1];
  check("a training that was cut off says so", await again.until("its state", (s) => word(s) === "interrupted"), run);
  const cut = Buffer.from(await again.evaluate((run) => Array.from(vifo.packed(run)), run));

  // A program that fails beside the page: told in words, and what it trained begins anew.
  const says = (words) => again.until(words, (s) => s.said.some((t) => t.includes(words)) && s.state === "Failed");
  const goes_on = () => again.until("steps", (s) => s.state === "Running" && s.step > 20);
  await again.act("tab", "Playground");
  await again.act("play");
  await goes_on();
  await (await again.program("vifo playground")).evaluate("setTimeout(vifo.fail) && 0");
  check("a panic beside the page is told", await says("as the test asked"), (await again.state()).said);
  await again.act("toggle");
  check("and its training goes on", await goes_on());
  await (await again.program("vifo playground")).evaluate("setTimeout(() => { throw new Error('no memory left') }) && 0");
  check("so is an end of another kind", await says("no memory left"), (await again.state()).said);
  await again.act("toggle");
  check("and it goes on again", await goes_on());

  await again.act("tab", "Priors");
  const began = Date.now();
  const drawn = await again.until("steps", (s) => s.priors > 20, 120000);
  check("priors are drawn", drawn, `${Date.now() - began} ms`);
  await again.screenshot({ path: path.join(out, "priors.png") });
  await again.close();

  // A table to its end: test rows, report, calibration.
  const whole = await trains("", "30");
  const ends = ["finished", "stopped early"];
  const finished = (name) => whole.until("the results", (s) => s.results && s.results[0].includes(name) && ends.includes(s.results[1]), 180000);
  check("a table trains to its results", await finished("waves"), (await whole.state()).results);
  await wait(1500);
  await whole.screenshot({ path: path.join(out, "trained.png") });
  const opens = new Promise((done) => whole.once("popup", done));
  await whole.act("report");
  const report = await Promise.race([opens, wait(20000)]);
  const text = report ? await report.evaluate("document.body.innerText") : "";
  check("its report opens", text.includes("waves"), text.slice(0, 60));
  if (report) await report.close();
  await whole.act("calibrate");
  const calibrated = await whole.until("its sentences", (s) => s.results[2].length > 0);
  check("it is calibrated", calibrated, (await whole.state()).results);
  await whole.act("predict", "/files/waves.csv");
  const predicted = await whole.until("600 rows", (s) => s.rows && s.rows[0].includes("waves.csv") && s.rows[1] === 600);
  check("it predicts a table", predicted, (await whole.state()).rows);
  await whole.act("evaluate", "/files/waves.csv");
  const evaluated = await whole.until("an evaluation", (s) => s.results[3] > 0, 120000);
  check("it is evaluated on a second table", evaluated, (await whole.state()).results[3]);

  await drop(whole, "bars.zip", bars(out));
  await whole.until("the images", (s) => s.tab === "Data" && s.data.open && s.data.open.includes("bars"));
  await whole.act("train", "3");
  check("images train to their results", await finished("bars"), (await whole.state()).results);
  await wait(1500);
  await whole.screenshot({ path: path.join(out, "images.png") });
  check("without a complaint", (await whole.state()).said.length === 0, (await whole.state()).said);
  await whole.close();
  return { cut, table: waves() };
};
