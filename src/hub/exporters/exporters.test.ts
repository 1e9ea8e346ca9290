import { expect, test } from "vitest";
import { scrapeConfig } from "../../../test/fixtures/sources/scrape.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { gpu, self } from "../../model/catalogue/index.ts";
import { labelSet, type LabelSet, labelValue } from "../../model/labels.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { ScrapeCache } from "../../sources/scrape/loop/scrape-cache.ts";
import type { FrameOrigin } from "../../storage/embedded/frames.ts";
import { ExporterGpus } from "./exporters.ts";

const startMs = 1_700_000_000_000;
const page = (power: number): string =>
  `DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",modelName="NVIDIA L4",Hostname="n1"} ${power}\n`;

function openGpus() {
  const written: { origin: FrameOrigin; extra: LabelSet }[] = [];
  const shown: Delivery[] = [];
  const result = {
    stored: 1,
    late: 0,
    duplicates: 0,
    refusedConflicts: 0,
    refusedTooOld: 0,
    refusedByLimit: 0,
    refusals: [],
  };
  let nowMs = startMs;
  const cache = new ScrapeCache(labelSet({ job: "dcgm", instance: "n1:9400" }));
  const gpus = new ExporterGpus({
    writer: {
      write: async () => result,
      writeFrame: async (origin, extra) => {
        written.push({ origin, extra });
        return result;
      },
      endSource: async () => {},
    },
    show: (delivery) => shown.push(delivery),
    nowMs: () => nowMs,
  });
  const scrape = (body: string, timeMs: number): SampleBatch => {
    nowMs = timeMs;
    cache.takePage(Buffer.from(body), "text/plain", timeMs, timeMs, scrapeConfig());
    return cache.finish();
  };
  return { gpus, written, shown, scrape, setNow: (ms: number) => (nowMs = ms) };
}

const count = (gpus: ExporterGpus): number | undefined => {
  let found: number | undefined;
  gpus.selfMetrics((metric, value) => {
    if (metric === self.exporterGpus) found = value;
  });
  return found;
};

test("a scraped exporter's GPU is stored under our names with the target's labels, and shown", async () => {
  const { gpus, written, shown, scrape } = openGpus();
  await gpus.observe(scrape(page(71), startMs));
  expect(written).toHaveLength(1);
  expect(written[0]?.extra).toEqual([
    ["instance", "n1:9400"],
    ["job", "dcgm"],
  ]);
  const slot = shown[0]?.frame.layout.series.findIndex(({ metric }) => metric === gpu.power) ?? -1;
  expect(shown[0]?.frame.values[slot]).toBe(71);
  expect(shown[0]).toMatchObject({ host: "n1", devices: [{ uuid: "GPU-a" }], isExposed: false });
  expect(count(gpus)).toBe(1);
});

test.each([
  [
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE 0.99, DCGM_FI_PROF_SM_ACTIVE 0.95, DCGM_FI_PROF_PIPE_TENSOR_ACTIVE 0.9",
    "tensor",
  ],
  [
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE 0.99, DCGM_FI_PROF_SM_ACTIVE 0.9, DCGM_FI_PROF_DRAM_ACTIVE 0.88",
    "memory",
  ],
  ["DCGM_FI_DEV_GPU_UTIL 30, DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION 5000", "host"],
])("a GPU of dcgm-exporter with %s is bound by: %s", async (readings, word) => {
  const { gpus, written, shown, scrape } = openGpus();
  const labels = 'gpu="0",UUID="GPU-a",modelName="NVIDIA H100 80GB HBM3",Hostname="n1"';
  const lines = readings.split(", ").map((one) => one.replace(" ", `{${labels}} `));
  for (let second = 0; second <= 90; second += 15)
    await gpus.observe(scrape(`${lines.join("\n")}\n`, startMs + second * 1_000));
  for (const frame of [shown.at(-1)?.frame, written.at(-1)?.origin.frame]) {
    const slot = frame?.layout.series.findIndex(
      ({ metric, labels: own }) => metric === gpu.bound && labelValue(own, "by") === word,
    );
    expect(frame?.values[slot ?? -1]).toBe(1);
  }
});

test("a target's frames are the present for three of its intervals", async () => {
  const { gpus, shown, scrape, setNow } = openGpus();
  await gpus.observe(scrape(page(71), startMs));
  await gpus.observe(scrape(page(72), startMs + 10_000));
  expect(shown.at(-1)?.freshForMs).toBe(30_000);
  expect(count(gpus)).toBe(1);
  setNow(startMs + 41_000);
  expect(count(gpus)).toBe(0);
});

test("a scrape that fails ends what is shown of its GPUs", async () => {
  const { gpus, shown, scrape } = openGpus();
  await gpus.observe(scrape(page(71), startMs));
  await gpus.observe(scrape("", startMs + 10_000));
  const slot = shown.at(-1)?.frame.layout.series.findIndex(({ metric }) => metric === gpu.power);
  expect(shown).toHaveLength(2);
  expect(shown.at(-1)?.frame.presence[slot ?? -1]).toBe(5);
});

test("frames of a gpulse agent's pages are the same when its pages repeat each other", async () => {
  const bodyOf = (power: string, more = ""): string =>
    `gpu_power_watts{uuid="GPU-a",gpu="0",host="n1"} ${power}\ngpu_utilization_ratio{uuid="GPU-a",gpu="0",host="n1"} 0.5\n${more}`;
  const other = 'gpu_power_watts{uuid="GPU-b",gpu="1",host="n1"} 9\n';
  const bodies = ["70", "71", "72.5", "NaN", "-5", "73", "1e9", "74"].map((power) => bodyOf(power));
  bodies.push(bodyOf("75", other), bodyOf("76", other), bodyOf("77", other), bodyOf("78"), "");
  bodies.push(bodyOf("79"), bodyOf("80"), bodyOf("81"));
  const { gpus, shown, scrape } = openGpus();
  for (const [at, body] of bodies.entries()) {
    const batch = scrape(body, startMs + at * 2_000);
    await gpus.observe(batch);
    // Frames of a hub that has seen no page before are built sample by sample.
    const fresh = openGpus();
    fresh.setNow(startMs + at * 2_000);
    await fresh.gpus.observe(batch);
    const [own, expected] = [shown.at(-1), fresh.shown.at(-1)];
    expect(expected).toBeDefined();
    expect(readingsOf(own)).toEqual(readingsOf(expected));
    expect(own?.devices).toEqual(expected?.devices);
  }
  expect(count(gpus)).toBe(2);
});

const readingsOf = (delivery: Delivery | undefined) =>
  delivery?.frame.layout.series.map(({ metric, labels }, slot) => [
    metric.name,
    labelValue(labels, "uuid"),
    delivery.frame.timeMs,
    delivery.frame.presence[slot],
    delivery.frame.presence[slot] === 0 ? delivery.frame.values[slot] : undefined,
  ]);
