// tint.js MODULES [--full]: Chromium's compiler of WGSL (Tint) on every module of the file and every entry of it, by its first and its
// last settings or, with --full, by all of them, and on slips that it must see. What makes a pipeline is a second of SwiftShader's; the
// rows of tests/web/run make the others.
const http = require("http"), fs = require("fs"), os = require("os"), path = require("path");
const { spawn } = require("child_process");
const all = process.argv.includes("--full");
const ends = (kernels) => kernels.filter(({ entry }, i) => {
  const same = (k) => k.entry === entry;
  return all || i === kernels.findIndex(same) || i === kernels.findLastIndex(same);
});
const modules = JSON.parse(fs.readFileSync(process.argv[2], "utf8")).map((m) => ({ ...m, kernels: ends(m.kernels) }));

// What must be refused: WGSL of the wrong type, more than every device has, and each module with its barriers behind a condition
// that threads of a workgroup may see differently (naga takes that).
const alone = (name, code) => ({ name, code, kernels: [{ entry: "slip", constants: {} }], refused: true });
const slips = [
  alone("a number of the wrong type", "@compute @workgroup_size(1) fn slip() { let x: f32 = 1u; }"),
  alone("too many threads", "@compute @workgroup_size(257) fn slip() { }"),
  alone("too much workgroup memory", "var<workgroup> w: array<u32, 1048577>; @compute @workgroup_size(1) fn slip() { w[0] = 1u; }"),
  alone("too many buffers", [...Array(9).keys()].map((i) => `@group(0) @binding(${i}) var<storage, read_write> b${i}: array<u32>;`).join("\n")
    + "@compute @workgroup_size(1) fn slip() { " + [...Array(9).keys()].map((i) => `b${i}[0] = 1u;`).join(" ") + " }"),
];
for (const m of modules.filter((m) => m.code.includes("workgroupBarrier();")))
  slips.push({ ...m, name: `${m.name} with a barrier that not all threads reach`, refused: true,
    code: m.code.replace(/workgroupBarrier\(\);/g, "if planted == 0u { workgroupBarrier(); }") + "\nvar<private> planted: u32;\n" });

// Runs in the page, with the limits that every device of WebGPU has, but for workgroup memory.
async function work(all) {
  const adapter = navigator.gpu && await navigator.gpu.requestAdapter();
  if (!adapter) return { none: `no WebGPU adapter (navigator.gpu: ${Boolean(navigator.gpu)})` };
  // The largest tiles are for adapters that have room for them: the program asks before it takes them.
  const { maxComputeWorkgroupStorageSize } = adapter.limits;
  const device = await adapter.requestDevice({ requiredLimits: { maxComputeWorkgroupStorageSize } });
  const found = [];
  for (const { name, code, kernels } of all) {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code });
    const said = (await module.getCompilationInfo()).messages.filter((m) => m.type !== "info").map((m) => `${m.type}, line ${m.lineNum}: ${m.message}`);
    const error = await device.popErrorScope();
    if (error && !said.length) said.push(error.message);
    if (!said.length) for (const { entry, constants } of kernels) {
      try { await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: entry, constants } }); }
      catch (e) { said.push(`${entry}: ${e.message}`); }
    }
    found.push({ name, said, pipelines: kernels.length });
  }
  return { found, adapter: `${adapter.info.vendor} ${adapter.info.architecture}` };
}

const home = fs.mkdtempSync(path.join(os.tmpdir(), "vifo-tint-"));
let browser, timer;
function end(code, words) {
  clearTimeout(timer);
  server.close();
  console.log(words);
  const leave = () => {
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    process.exit(code);
  };
  if (!browser || !browser.pid || browser.exitCode !== null) return leave();
  browser.removeAllListeners("exit");
  browser.on("exit", () => setTimeout(leave, 200));
  // It and its children, which are a group of their own.
  process.kill(-browser.pid, "SIGKILL");
}
function judge({ none, found, adapter }) {
  // 3: it cannot be asked here.
  if (none) return end(3, none);
  const wrong = found.slice(0, modules.length).filter((f) => f.said.length);
  const unseen = found.slice(modules.length).filter((f) => !f.said.length);
  for (const f of wrong) console.log(`${f.name}: ${f.said.join("; ")}`);
  for (const f of unseen) console.log(`accepted, and must not be: ${f.name}`);
  const pipelines = found.slice(0, modules.length).reduce((n, f) => n + f.pipelines, 0);
  const whole = found.length === modules.length + slips.length && pipelines > 50 && slips.length > 5;
  end(whole && !wrong.length && !unseen.length ? 0 : 1,
    `tint: ${modules.length} modules, ${pipelines} pipelines, ${wrong.length} refused; ${slips.length} slips, ${unseen.length} unseen (${adapter})`);
}
const server = http.createServer((asked, answer) => {
  if (asked.method === "POST") {
    let text = "";
    asked.on("data", (part) => { text += part; });
    asked.on("end", () => { answer.end(); judge(JSON.parse(text)); });
  } else if (asked.url === "/") {
    answer.setHeader("content-type", "text/html");
    answer.end(`<!doctype html><meta charset=utf-8><script>${work}
      (async () => {
        let said;
        try { said = await work(await (await fetch("/all")).json()); } catch (e) { said = { none: String(e) }; }
        await fetch("/", { method: "POST", body: JSON.stringify(said) });
      })();</script>`);
  } else if (asked.url === "/all") answer.end(JSON.stringify([...modules, ...slips]));
  else { answer.writeHead(404); answer.end(); }
});
server.listen(0, "127.0.0.1", () => {
  const flags = ["--headless=new", "--no-sandbox", "--no-first-run", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    `--user-data-dir=${home}`, "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];
  browser = spawn(process.env.CHROMIUM || "chromium", [...flags, `http://127.0.0.1:${server.address().port}/`], { stdio: "ignore", detached: true });
  browser.on("error", (e) => end(3, `chromium: ${e.message}`));
  browser.on("exit", (code) => { if (code !== null) end(1, `chromium ended with ${code}`); });
  timer = setTimeout(() => end(1, "chromium gave no answer in a quarter of an hour"), 900000);
});
