// A folder served on this computer, and browsers that open it.
const http = require("http"), fs = require("fs"), path = require("path"), os = require("os");
const puppeteer = require("puppeteer-core");

const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".png": "image/png", ".json": "application/json", ".webmanifest": "application/manifest+json" };
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

function serve(folder) {
  const server = http.createServer((asked, answer) => {
    if (server.cut) return asked.socket.destroy();
    const file = path.join(folder, decodeURIComponent(asked.url.split(/[?#]/)[0]).replace(/\/$/, "/index.html"));
    if (!file.startsWith(folder) || !fs.existsSync(file)) { answer.writeHead(404); return answer.end(); }
    answer.writeHead(200, { "content-type": types[path.extname(file)] || "application/octet-stream" });
    fs.createReadStream(file).pipe(answer);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

// Bytes dropped on the page as a file.
const drop = (page, name, bytes) => page.evaluate((name, text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], name));
  const canvas = document.getElementById("vifo");
  for (const kind of ["dragenter", "dragover", "drop"]) canvas.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}, name, bytes.toString("base64"));

// Chromium calls nobody but the page; the processor draws.
const chromium = () => ({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  headless: true,
  args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
});
// Firefox has no WebGL without a screen: xvfb-run.
const firefox = () => ({
  browser: "firefox",
  executablePath: process.env.FIREFOX || "/usr/bin/firefox-esr",
  headless: false,
  extraPrefsFirefox: { "webgl.force-enabled": true, "webgl.forbid-software": false },
  args: [],
});

// `launch` starts a browser with further arguments, `open` a page in the last one; errors of pages gather in `said`; `cut` takes the network away; `end`
// closes all.
async function begin(folder, options = chromium()) {
  const server = await serve(folder);
  const address = `http://127.0.0.1:${server.address().port}/`;
  const [browsers, homes, said] = [[], [], []];
  async function launch(...more) {
    homes.push(fs.mkdtempSync(path.join(os.tmpdir(), "vifo-page-")));
    const own = { userDataDir: homes[homes.length - 1], protocolTimeout: 1200000, ...options, args: [...options.args, ...more] };
    browsers.push(await puppeteer.launch(own));
    return browsers[browsers.length - 1];
  }
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
    // The programs beside it, by name, as soon as each has loaded; and the one of a name.
    page.programs = async () => {
      for (const end = Date.now() + 60000; Date.now() < end; await wait(100)) {
        const all = await Promise.all(page.workers().map(async (of) => [await of.evaluate("self.memory && self.name").catch(() => ""), of]));
        if (all.every(([name]) => name)) return new Map(all);
      }
      throw new Error("a program beside the page has not loaded within a minute");
    };
    page.program = async (name) => (await page.programs()).get(name);
    page.until = async (words, test, ms = 60000) => {
      for (const end = Date.now() + ms; Date.now() < end; await wait(100)) if (test(await page.state())) return true;
      console.log("waited for", words, "in vain:", await page.state());
      return false;
    };
    return page;
  }
  async function end() {
    for (const browser of browsers) await browser.close();
    server.close();
    homes.forEach((home) => fs.rmSync(home, { recursive: true, force: true }));
  }
  // As if there were no network, or again one.
  const cut = (is) => { server.cut = is; };
  return { launch, open, said, cut, end };
}

module.exports = { begin, firefox, drop, wait };
