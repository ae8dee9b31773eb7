// Training on a GPU of the browser, here on its software adapter: that the numbers are those of the CPU, which the rule of cost chooses
// for a small network, and that a GPU which is gone is no end.
const path = require("path");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// As if the software adapter were a card, for what comes after.
const as_card = (worker) => worker.evaluate(`Object.defineProperty(GPUAdapterInfo.prototype, "isFallbackAdapter", { get: () => false }) && 0`);

module.exports = async function ({ open, check, out }) {
  const opened = async (recipe) => {
    const page = await open();
    await page.act("play", recipe);
    return page;
  };
  const ends = (page) => page.until("the end", (s) => s.state.startsWith("Ended"), 180000);

  const told = (s) => s.said.some((t) => t.includes("device lost") && t.includes("goes on on the CPU"));
  const survives = async (what, page, had) => {
    check(`${what} is told`, await page.until("its words", told), (await page.state()).said);
    const on_cpu = (s) => s.state === "Running" && s.device.startsWith("CPU") && s.step > had;
    check("and training goes on on the CPU", await page.until("steps", on_cpu), await page.state());
    await page.close();
  };

  const ten = async (device) => {
    const page = await opened(`device = "${device}"\n[train]\nepochs = 10\nevaluate_every = 1\n`);
    await ends(page);
    const { device: on, last, said } = await page.state();
    await page.close();
    return { on, last, said };
  };
  const [cpu, gpu] = [await ten("cpu"), await ten("software")];
  check("ten steps run on the GPU", gpu.on?.startsWith("GPU: ") && gpu.on.includes("WebGPU") && gpu.last?.[0] === 10, gpu);
  const near = (a, b) => Math.abs(a - b) < 1e-4 * Math.abs(b);
  check("their loss is the CPU's within 1 in 10,000", gpu.last && near(gpu.last[1], cpu.last[1]), [cpu, gpu]);
  const twice = await ten("software");
  check("and the same bits twice", JSON.stringify(twice.last) === JSON.stringify(gpu.last), [gpu.last, twice.last]);

  // Whoever asks for nothing gets the CPU where there is only software, and where the network is small.
  const long = "[train]\nepochs = 100000\nevaluate_every = 10\n";
  const auto = await opened(long);
  await auto.until("steps", (s) => s.step > 20);
  check("software is taken only when asked for", (await auto.state()).device.startsWith("CPU"), (await auto.state()).device);
  await auto.close();
  const chosen = async (hidden) => {
    // The device is opened anew where the one before had another name.
    const page = await opened(`device = "cpu"\n${long}`);
    await page.until("steps", (s) => s.step > 0 && s.device?.startsWith("CPU"));
    for (const worker of (await page.programs()).values()) await as_card(worker);
    await page.act("play", `${long}[net]\nhidden = ${hidden}\n`);
    await page.until("steps", (s) => s.step > 2 && s.device?.includes("chosen"), 180000);
    const { device } = await page.state();
    await page.close();
    return device;
  };
  const small = await chosen("[20]");
  check("a small network is chosen for the CPU", small?.startsWith("CPU"), small);
  const large = await chosen("[1500, 1500, 1500]");
  check("a large one for the GPU", large?.startsWith("GPU"), large);

  // On it the playground does what it always does.
  const page = await opened(`device = "software"\n${long}`);
  check("it trains on", await page.until("steps", (s) => s.step > 50 && s.device.startsWith("GPU"), 120000));
  const before = await page.state();
  await page.mouse.click(827, 330);
  check("a click adds a point", await page.until("a point", (s) => s.points === before.points + 1), before.points);
  const at = (await page.state()).step;
  check("and it trains on with it", await page.until("steps", (s) => s.step > at + 20, 120000));
  await page.screenshot({ path: path.join(out, "gpu.png") });
  check("without a complaint", (await page.state()).said.length === 0, (await page.state()).said);

  // The device goes at its next step; and in the middle of a read-back: as its bytes are asked for, and when they are there.
  const had = (await page.state()).step;
  await (await page.program("vifo playground")).evaluate(() => {
    const make = GPUDevice.prototype.createCommandEncoder;
    GPUDevice.prototype.createCommandEncoder = function (descriptor) {
      this.destroy();
      return make.call(this, descriptor);
    };
  });
  await survives("a lost GPU", page, had);
  for (const [when, late] of [["asked for", false], ["there", true]]) {
    const reads = await opened(`device = "software"\n${long}`);
    await reads.until("steps", (s) => s.step > 20 && s.device.startsWith("GPU"), 120000);
    const at = (await reads.state()).step;
    await (await reads.program("vifo playground")).evaluate((late) => {
      const [make, map] = [GPUDevice.prototype.createCommandEncoder, GPUBuffer.prototype.mapAsync];
      let device;
      GPUDevice.prototype.createCommandEncoder = function (descriptor) {
        device = this;
        return make.call(this, descriptor);
      };
      GPUBuffer.prototype.mapAsync = function (...all) {
        const mapped = map.apply(this, all);
        if (late) return mapped.then(() => device?.destroy());
        device?.destroy();
        return mapped;
      };
    }, late);
    await survives(`a GPU that is lost when bytes are ${when}`, reads, at);
  }

  // The tests of the shaders, by Tint.
  const rows = await open("");
  const found = await Promise.race([
    rows.evaluate(() => new Promise((done) => {
      const worker = new Worker("parity/worker.js", { type: "module" });
      worker.onmessage = ({ data }) => done(data);
      worker.onerror = (e) => done({ error: e.message });
    })),
    wait(1200000),
  ]);
  check("every kernel agrees with its twin", /^\d+ rows, \d+ kernels$/.test(found?.kernels), found?.kernels ?? found);
  check("ten steps agree", found?.steps?.startsWith("CPU f32 sums"), found?.steps?.trim().split("\n") ?? found);
  await rows.close();
};
