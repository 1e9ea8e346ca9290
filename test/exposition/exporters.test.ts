import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { everything, h200, inputOf, mi300 } from "../fixtures/formats/compat.ts";
import { scrape, timeMs, valueOf } from "../fixtures/formats/exporters.ts";
import { scrapeConfig } from "../fixtures/sources/scrape.ts";
import { gpu, type MetricEntry } from "../../src/model/catalogue/index.ts";
import { labelSet } from "../../src/model/labels.ts";
import { presence } from "../../src/model/presence.ts";
import { ScrapeCache } from "../../src/sources/scrape/loop/scrape-cache.ts";
import { CompatFrames } from "../../src/formats/compat/compat.ts";
import { type CompatName, compatNames, compatTables } from "../../src/formats/compat/tables.ts";
import { PageWriter } from "../../src/formats/prometheus/page.ts";
import { ExporterFrames } from "../../src/formats/exporters/frames.ts";
import { isReadable } from "../../src/formats/exporters/written.ts";

/** A plausible value that every exporter's rounding keeps. */
const plausible = ({ plausible: [low, high], unit, kind }: MetricEntry): number => {
  if (unit === "bytes") return 2 ** 30;
  if (unit === "hertz") return 1.5e9;
  if (kind === "counter" || high > 1_000) return Math.max(low, Math.min(high, 64));
  return low <= 1 && high >= 1 ? 1 : high;
};

test.each(compatNames)("what --compat %s writes is read back", (name: CompatName) => {
  const table = compatTables[name];
  const device = table.vendor === "amd" ? mi300 : h200;
  const readings = everything(1).map(
    ([metric, labels]) => [metric, labels, plausible(metric)] as const,
  );
  const written = new CompatFrames([table]).of([inputOf(device, readings, timeMs)]);
  const [back] = scrape(new PageWriter("text").write(written));
  expect(back?.devices.map(({ uuid }) => uuid)).toEqual([device.uuid]);
  const isWritten = new Set(
    written.flatMap(({ layout, presence: states }) =>
      layout.series.flatMap(({ metric }, slot) =>
        states[slot] === presence.present ? [metric.name] : [],
      ),
    ),
  );
  const lost = table.rows
    .filter((row) => isReadable(row) && isWritten.has(row.name))
    .filter(({ from, match = {} }) => {
      const labels = Object.entries(match).filter(
        (pair): pair is [string, string] => typeof pair[1] === "string",
      );
      const value = back && valueOf(back, from, Object.fromEntries(labels));
      return (
        typeof value !== "number" || Math.abs(value - plausible(from)) > plausible(from) * 1e-6
      );
    })
    .map((row) => row.name);
  expect(lost).toEqual([]);
});

const dcgmLabels =
  'gpu="2",UUID="GPU-aa",pci_bus_id="00000000:8A:00.0",modelName="NVIDIA H100",Hostname="gpu-node-7"';

test("a page of dcgm-exporter is a frame of its GPU, its host and its pod", () => {
  const [found, ...others] = scrape(
    [
      `DCGM_FI_DEV_POWER_USAGE{${dcgmLabels},pod="train-0",namespace="ml",container="main"} 412.5`,
      `DCGM_FI_DEV_FB_USED{${dcgmLabels},pod="train-0",namespace="ml",container="main"} 1024`,
      `DCGM_FI_DEV_FB_FREE{${dcgmLabels},pod="train-0",namespace="ml",container="main"} 3072`,
      `DCGM_FI_DEV_MEMORY_TEMP{${dcgmLabels}} 0`,
      "go_goroutines 12",
      "",
    ].join("\n"),
  );
  expect(others).toEqual([]);
  expect(found).toMatchObject({
    exporter: "dcgm",
    host: "gpu-node-7",
    devices: [
      {
        uuid: "GPU-aa",
        index: 2,
        vendor: "nvidia",
        model: "NVIDIA H100",
        pciBusId: "0000:8a:00.0",
      },
    ],
    isOwn: false,
  });
  if (found === undefined) return;
  expect(valueOf(found, gpu.power)).toBe(412.5);
  expect(valueOf(found, gpu.memoryTotal)).toBe(4096 * 2 ** 20);
  expect(valueOf(found, gpu.temperature, { sensor: "memory" })).toBe("exporter reports 0");
  expect(valueOf(found, gpu.up)).toBe(1);
  expect(valueOf(found, gpu.ownerInfo, { pod: "train-0", namespace: "ml" })).toBe(1);
});

test("a target's own pod is not the owner of its GPUs", () => {
  const target = {
    job: "dcgm",
    instance: "10.0.0.1:9400",
    pod: "dcgm-exporter-x1",
    namespace: "monitoring",
  };
  const [found] = scrape(
    `DCGM_FI_DEV_POWER_USAGE{${dcgmLabels},pod="train-0",namespace="ml"} 400\n`,
    target,
  );
  expect(found && valueOf(found, gpu.ownerInfo, { pod: "train-0" })).toBe(1);
  expect(found && valueOf(found, gpu.ownerInfo, { pod: "dcgm-exporter-x1" })).toBeUndefined();
});

test("a MIG instance is a part of its GPU", () => {
  const [found] = scrape(
    `DCGM_FI_PROF_SM_ACTIVE{${dcgmLabels},GPU_I_ID="3",GPU_I_PROFILE="1g.10gb"} 0.5\n`,
  );
  expect(found?.devices).toMatchObject([
    { uuid: "GPU-aa/3", parent: "GPU-aa", model: "NVIDIA H100 MIG 1g.10gb" },
  ]);
});

const pages: readonly [exporter: string, page: string, vendor: string, power: number][] = [
  [
    "nvitop",
    'gpu_power_usage_W{hostname="h",index="0",devicename="NVIDIA A100",uuid="GPU-1"} 99',
    "nvidia",
    99,
  ],
  [
    "amd",
    'gpu_power_usage{gpu_id="0",gpu_uuid="u1",card_series="MI300X",hostname="h"} 500',
    "amd",
    500,
  ],
  [
    "amd",
    'amd_gpu_power_usage{gpu_id="0",serial_number="69",card_model="MI210",hostname="h"} 90',
    "amd",
    90,
  ],
  ["amd-smi", 'amd_gpu_power{gpu_power="1",productname="Radeon"} 35000000', "amd", 35],
  [
    "xpum",
    'xpum_power_watts{uuid="i1",dev_name="Max 1550",pci_bdf="0000:4d:00.0"} 310',
    "intel",
    310,
  ],
  [
    "all-smi",
    'all_smi_gpu_power_consumption_watts{gpu="Intel Arc A770",gpu_uuid="x",gpu_index="0"} 60',
    "intel",
    60,
  ],
  [
    "otel",
    'hw_power_watts{hw_type="gpu",hw_id="GPU-9",hw_vendor="NVIDIA",hw_model="H200"} 650',
    "nvidia",
    650,
  ],
  ["nvidia-smi", 'nvidia_smi_power_draw_watts{uuid="6f1a"} 77', "nvidia", 77],
];

test.each(pages)("%s: %s", (exporter, page, vendor, power) => {
  const [found] = scrape(`${page}\n`);
  expect(found).toMatchObject({ exporter, devices: [{ vendor }] });
  expect(found && valueOf(found, gpu.power)).toBe(power);
});

test("the description of a GPU in a series of its own completes the device", () => {
  const [found] = scrape(
    [
      'nvidia_smi_power_draw_watts{uuid="6f1a"} 77',
      'nvidia_smi_gpu_info{uuid="6f1a",name="NVIDIA T4",index="1",driver_version="580.1"} 1',
      "",
    ].join("\n"),
  );
  expect(found?.devices).toMatchObject([
    { uuid: "GPU-6f1a", model: "NVIDIA T4", driver: "580.1", index: 1 },
  ]);
});

test("a GPU without a uuid is identified by host and place, so that two hosts do not share it", () => {
  const page = 'node_drm_gpu_busy_percent{card="card0"} 40\n';
  const [one] = scrape(page, { job: "node", instance: "a:9100" });
  const [other] = scrape(page, { job: "node", instance: "b:9100" });
  expect(one?.devices[0]?.uuid).toBe("amd-node-drm-card0-a");
  expect(other?.devices[0]?.uuid).toBe("amd-node-drm-card0-b");
});

test("a page of our own agent passes as it is", () => {
  const input = inputOf(h200, [
    [gpu.info, {}, 1],
    [gpu.power, {}, 321],
  ]);
  const [found] = scrape(new PageWriter("text").write([input.frame]));
  expect(found).toMatchObject({ exporter: "gpulse", isOwn: true, host: "node-1" });
  expect(found?.devices[0]).toMatchObject({ uuid: h200.uuid, model: h200.model, vendor: "nvidia" });
  expect(found && valueOf(found, gpu.power)).toBe(321);
});

test("a simulated GPU of our own agent is simulated, whichever series comes first", () => {
  const simulated = { ...h200, simulated: true, parent: "GPU-whole" };
  const input = inputOf(simulated, [
    [gpu.power, {}, 321],
    [gpu.info, {}, 1],
  ]);
  const [found] = scrape(new PageWriter("text").write([input.frame]));
  expect(found?.devices).toMatchObject([{ simulated: true, parent: "GPU-whole" }]);
});

test("an agent that also writes another exporter's names is read by its own", () => {
  const input = inputOf(h200, [
    [gpu.info, {}, 1],
    [gpu.memoryUsed, {}, 12_345_678],
  ]);
  const compat = new CompatFrames([compatTables.dcgm, compatTables["nvidia-smi"]]).of([input]);
  const found = scrape(new PageWriter("text").write([input.frame, ...compat]));
  expect(found.map(({ exporter }) => exporter)).toEqual(["gpulse"]);
});

test("a target that invents GPUs is held to a limit, and the rest is read", () => {
  const frames = new ExporterFrames({ gpusPerTarget: 2 });
  const page = Array.from(
    { length: 5 },
    (_, at) => `DCGM_FI_DEV_POWER_USAGE{UUID="GPU-${at}",gpu="${at}",Hostname="h"} 100\n`,
  ).join("");
  const [found] = scrape(page, { job: "d", instance: "h:1" }, frames);
  expect(found?.devices).toHaveLength(2);
  expect(frames.ignoredSeries).toBe(3);
});

test("20,000 GPUs of one target are held to 1,024, and the GPUs of the next target are read", () => {
  const frames = new ExporterFrames();
  const page = Array.from(
    { length: 20_000 },
    (_, at) => `DCGM_FI_DEV_POWER_USAGE{UUID="GPU-${at}",gpu="${at}",Hostname="h"} 100\n`,
  ).join("");
  const [found] = scrape(page, { job: "d", instance: "h:1" }, frames);
  expect(found?.devices).toHaveLength(1_024);
  expect(frames.ignoredSeries).toBe(20_000 - 1_024);
  const [next] = scrape(dcgmPowerPage("GPU-1", 200), { job: "d", instance: "i:1" }, frames);
  expect(next && valueOf(next, gpu.power)).toBe(200);
});

const dcgmPowerPage = (uuid: string, watts: number): string =>
  `DCGM_FI_DEV_POWER_USAGE{UUID="${uuid}",gpu="0",Hostname="h"} ${watts}\n`;

test("a target that changes its exporter goes on under the new one's names, and the old readings end", () => {
  const frames = new ExporterFrames();
  const cache = new ScrapeCache(labelSet({ job: "gpu", instance: "h:9400" }));
  const answers = [
    dcgmPowerPage("GPU-a1", 100),
    `nvidia_smi_power_draw_watts{uuid="a1"} 200\n`,
    dcgmPowerPage("GPU-a1", 300),
  ];
  const seen = answers.map((page, at) => {
    const atMs = timeMs + at * 15_000;
    cache.takePage(Buffer.from(page), "text/plain", atMs, atMs, scrapeConfig());
    return frames
      .frames(cache.finish())
      .map((found) => [
        found.exporter,
        found.isReplaced,
        found.devices[0]?.uuid,
        valueOf(found, gpu.power),
      ]);
  });
  expect(seen).toEqual([
    [["dcgm", false, "GPU-a1", 100]],
    [
      ["nvidia-smi", false, "GPU-a1", 200],
      ["dcgm", true, undefined, undefined],
    ],
    [
      ["dcgm", false, "GPU-a1", 300],
      ["nvidia-smi", true, undefined, undefined],
    ],
  ]);
});

test.each([
  ["bytes where MiB belong", "DCGM_FI_DEV_FB_USED", 8.6e10, gpu.memoryUsed],
  ["milliwatts for watts", "DCGM_FI_DEV_POWER_USAGE", 250_000, gpu.power],
  ["hertz for MHz", "DCGM_FI_DEV_SM_CLOCK", 1.98e9, gpu.clock],
  ["millidegrees", "DCGM_FI_DEV_GPU_TEMP", 65_000, gpu.temperature],
  ["a share of 5,000 %", "DCGM_FI_DEV_GPU_UTIL", 5_000, gpu.utilization],
] as const)("%s: no reading, with the others of the GPU read", (_what, name, value, metric) => {
  const page = `${name}{UUID="GPU-1",gpu="0"} ${value}\nDCGM_FI_DEV_FB_FREE{UUID="GPU-1",gpu="0"} 1024\n`;
  const [found] = scrape(page);
  expect(found && valueOf(found, metric)).toBe("failed");
  expect(found && valueOf(found, gpu.memoryFree)).toBe(2 ** 30);
});

test("a change of the last XID error's number is an error at that time; the first one seen has no time", () => {
  const frames = new ExporterFrames();
  const cache = new ScrapeCache(labelSet({ job: "gpu", instance: "node-1:9400" }));
  const read = (code: number, atMs: number) => {
    const page = `DCGM_FI_DEV_XID_ERRORS{${dcgmLabels}} ${code}\nDCGM_FI_DEV_GPU_UTIL{${dcgmLabels}} 5\n`;
    cache.takePage(Buffer.from(page), "text/plain", atMs, atMs, scrapeConfig());
    const [found] = frames.frames(cache.finish());
    const of = (metric: MetricEntry, xid: string) => found && valueOf(found, metric, { xid });
    return {
      watched: found && valueOf(found, gpu.xidWatched),
      count: (xid: string) => of(gpu.xidErrors, xid),
      last: (xid: string) => of(gpu.xidLast, xid),
    };
  };
  const first = read(31, timeMs);
  expect([first.watched, first.count("31"), first.last("31")]).toEqual([1, 1, undefined]);
  const later = read(79, timeMs + 15_000);
  expect([later.count("31"), later.count("79")]).toEqual([1, 1]);
  expect(later.last("79")).toBe((timeMs + 15_000) / 1_000);
  expect(read(79, timeMs + 30_000).count("79")).toBe(1);
});

/** Pages of one target, one after the other. */
function openTarget(exporter = "dcgm") {
  const frames = new ExporterFrames();
  const cache = new ScrapeCache(labelSet({ job: "gpu", instance: "node-1:9400" }));
  return (page: string, second: number) => {
    const atMs = timeMs + second * 1_000;
    cache.takePage(Buffer.from(page), "text/plain", atMs, atMs, scrapeConfig());
    const found = frames.frames(cache.finish()).find((frame) => frame.exporter === exporter);
    return {
      devices: found?.devices.map(({ uuid }) => uuid),
      value: (metric: MetricEntry, uuid: string) => found && valueOf(found, metric, { uuid }),
    };
  };
}

const powers = (...uuids: readonly string[]): string =>
  uuids
    .map((uuid, at) => `DCGM_FI_DEV_POWER_USAGE{gpu="${at}",UUID="${uuid}",Hostname="h"} 90\n`)
    .join("");

test("a GPU that disappears from the page while others stay is not up, until it is back or a day has passed", () => {
  const scrapeAt = openTarget();
  const both = powers("GPU-a", "GPU-b");
  scrapeAt(both, 0);
  scrapeAt(both, 15);
  const first = scrapeAt(powers("GPU-a"), 30);
  expect(first.value(gpu.up, "GPU-b")).toBeUndefined();
  scrapeAt(powers("GPU-a"), 45);
  const lost = scrapeAt(powers("GPU-a"), 75);
  expect([lost.value(gpu.up, "GPU-a"), lost.value(gpu.up, "GPU-b")]).toEqual([1, 0]);
  expect([lost.value(gpu.info, "GPU-b"), lost.devices]).toEqual([1, ["GPU-a", "GPU-b"]]);
  const back = scrapeAt(both, 90);
  expect([back.value(gpu.up, "GPU-b"), back.value(gpu.power, "GPU-b")]).toEqual([1, 90]);
  let last = back;
  for (let second = 105; second < 90 + 86_700; second += 240)
    last = scrapeAt(powers("GPU-a"), second);
  expect(last.value(gpu.up, "GPU-b")).toBeUndefined();
});

test("what is left of a GPU that no longer answers does not keep it up", () => {
  const labels = 'gpu="1",UUID="GPU-b",Hostname="h"';
  const rest = `DCGM_FI_DEV_XID_ERRORS{${labels}} 79\nDCGM_FI_DEV_FB_TOTAL{${labels}} 81559\n`;
  const scrapeAt = openTarget();
  for (const second of [0, 15]) scrapeAt(powers("GPU-a", "GPU-b") + rest, second);
  for (const second of [30, 45]) scrapeAt(powers("GPU-a") + rest, second);
  const lost = scrapeAt(powers("GPU-a") + rest, 75);
  expect([lost.value(gpu.up, "GPU-b"), lost.value(gpu.memoryTotal, "GPU-b")]).toEqual([
    0,
    81_559 * 2 ** 20,
  ]);
  const amdCard = (id: number) => `gpu_id="${id}",gpu_uuid="u${id}",hostname="h"`;
  const amdPage = (second: number) =>
    powers("GPU-a") +
    `gpu_health{${amdCard(0)}} 1\ngpu_total_vram{${amdCard(1)}} 196592\ngpu_power_usage{${amdCard(0)}} 80\n` +
    `gpu_health{${amdCard(1)}} ${second < 30 ? 1 : 0}\n` +
    (second < 30 ? `gpu_power_usage{${amdCard(1)}} 80\n` : "") +
    `gpu_health{${amdCard(2)}} 1\n`;
  // A page with another exporter's names too, as of two vendors.
  const scrapeAmd = openTarget("amd");
  for (const second of [0, 15, 30, 45]) scrapeAmd(amdPage(second), second);
  const later = scrapeAmd(amdPage(75), 75);
  expect(["u0", "u1", "u2"].map((uuid) => later.value(gpu.up, uuid))).toEqual([1, 0, undefined]);
});

test("an empty page, a target that was away and a MIG instance that was deleted are no lost GPUs", () => {
  const scrapeAt = openTarget();
  const mig = 'DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",GPU_I_ID="3",Hostname="h"} 1\n';
  for (const second of [0, 15, 30]) scrapeAt(powers("GPU-a", "GPU-b") + mig, second);
  for (const second of [45, 60, 75, 90]) scrapeAt("", second);
  const after = scrapeAt(powers("GPU-a", "GPU-b"), 105);
  expect(after.devices).toEqual(["GPU-a", "GPU-b"]);
  expect(scrapeAt(powers("GPU-a", "GPU-b"), 180).value(gpu.up, "GPU-a/3")).toBeUndefined();
  for (const second of [580, 640, 700])
    expect(scrapeAt(powers("GPU-a"), second).value(gpu.up, "GPU-b")).toBeUndefined();
});

test("the owner of a GPU ends with its labels on the page", () => {
  const scrapeAt = openTarget();
  const page = (pod: string): string =>
    `DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",Hostname="h"${pod}} 90\n`;
  expect(scrapeAt(page(',pod="llm-1"'), 0).value(gpu.ownerInfo, "GPU-a")).toBe(1);
  expect(scrapeAt(page(""), 15).value(gpu.ownerInfo, "GPU-a")).toBe("ended");
  expect(scrapeAt(page(""), 30).value(gpu.ownerInfo, "GPU-a")).toBeUndefined();
});

test("a sentinel is no reading", () => {
  const [found] = scrape(`DCGM_FI_DEV_MEMORY_TEMP{${dcgmLabels}} 9223372036854775794\n`);
  expect(found && valueOf(found, gpu.temperature, { sensor: "memory" })).toBe("unsupported");
});

const capture = "../shared/captures/public/dcgm-exporter/readme_sentinel.prom";

test.skipIf(!existsSync(capture))("the public capture of dcgm-exporter is one GPU", () => {
  const [found] = scrape(readFileSync(capture, "utf8"));
  expect(found?.devices).toMatchObject([{ uuid: "GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52" }]);
  expect(found && valueOf(found, gpu.clock, { domain: "sm" })).toBe(139e6);
  expect(found && valueOf(found, gpu.temperature, { sensor: "memory" })).toBe("unsupported");
});
