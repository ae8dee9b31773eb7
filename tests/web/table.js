// table.js FOLDER OUT MB: a table of so many MB dropped on the page: what its thread and its frames wait for until the report is there.
const path = require("path");
const { begin } = require("./browser.js");
const [folder, out] = process.argv.slice(2, 4).map((p) => path.resolve(p));
const megabytes = Number(process.argv[4] ?? 50);

(async () => {
  const { launch, open, said, end } = await begin(folder);
  await launch();
  const page = await open("", { width: 420, height: 320 });
  await page.act("toggle");
  const rows = await page.evaluate((megabytes) => {
    const parts = ["a,b,c,d,e,f,place,y\n"];
    let [length, seed, rows] = [0, 1, 0];
    const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
    for (; length < megabytes * 1e6; rows++) {
      const x = Array.from({ length: 6 }, () => (next() * 100).toFixed(5));
      const row = `${x.join()},town ${Math.floor(next() * 200)},${(next() * 10).toFixed(3)}\n`;
      parts.push(row);
      length += row.length;
    }
    window.file = new File(parts, "large.csv");
    return rows;
  }, megabytes);
  const found = await page.evaluate(() => new Promise((done) => {
    const began = performance.now();
    let due = began + 10, last = began, open = 0;
    const [late, frames] = [[], []];
    requestAnimationFrame(function frame(now) {
      frames.push([now - last, last - began]);
      last = now;
      requestAnimationFrame(frame);
    });
    setTimeout(function look() {
      const now = performance.now();
      late.push([now - due, due - began]);
      if (!open && JSON.parse(vifo.state()).data.open === "large.csv") open = now;
      due = performance.now() + 10;
      if (!open || now < open + 2000) return setTimeout(look, 10);
      const longest = (all) => all.sort((a, b) => b[0] - a[0]).slice(0, 4).map(([ms, at]) => [Math.round(ms), Math.round(at)]);
      done({ seconds: Math.round((open - began) / 100) / 10, late: longest(late), frames: longest(frames) });
    }, 10);
    const data = new DataTransfer();
    data.items.add(window.file);
    const canvas = document.getElementById("vifo");
    for (const kind of ["dragenter", "dragover", "drop"]) canvas.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }));
  await page.screenshot({ path: path.join(out, "table.png") });
  console.log(`${megabytes} MB, ${rows} rows: open after ${found.seconds} s`);
  console.log("the page's thread was late, [ms, at ms]:", JSON.stringify(found.late));
  console.log("between frames:", JSON.stringify(found.frames));
  if (said.length) console.log("said:", said);
  await end();
  process.exit(found.late[0][0] > 200 || said.length ? 1 : 0);
})().catch((e) => { console.error(e); process.exit(1); });
