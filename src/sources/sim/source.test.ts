import { describe, expect, test } from "vitest";
import { catalogue, identityLabels, type Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { labelValue } from "../../model/labels.ts";
import { seriesKey } from "../../model/layout.ts";
import { presenceNames } from "../../model/presence.ts";
import { silentLog } from "../../base/log.ts";
import { parseSource } from "../open.ts";
import type { PolledSource, Source, SourceContext, StreamingSource } from "../source.ts";

const nowMs = Date.UTC(2026, 2, 1, 12, 0, 0, 350);
const context = (at = nowMs): SourceContext => ({
  host: "lab",
  log: silentLog,
  nowMs: () => at,
  sysfs: "/sys",
  procfs: "/proc",
});
const signal = new AbortController().signal;

async function open(url: string, at = nowMs): Promise<Source> {
  const { definition, options } = parseSource(url);
  return definition.create(options, context(at));
}

async function polled(url: string, at = nowMs): Promise<PolledSource> {
  const source = await open(url, at);
  return source.shape === "polled" ? source : expect.fail("streams");
}

async function collect(source: StreamingSource, most = Number.POSITIVE_INFINITY): Promise<Frame[]> {
  const frames: Frame[] = [];
  const abort = new AbortController();
  await source.run(async (frame) => {
    if (frames.push(frame) >= most) abort.abort();
  }, abort.signal);
  return frames;
}

async function streamed(url: string, most?: number): Promise<Frame[]> {
  const source = await open(url);
  return source.shape === "streaming" ? collect(source, most) : expect.fail("is polled");
}

/** A frame's complete content as text: equal frames give equal text. */
function dump({ timeMs, layout, values, presence }: Frame): string {
  const lines = layout.series.map(
    (series, slot) =>
      `${seriesKey(series)} ${presence[slot] === 0 ? values[slot] : presenceNames[presence[slot] ?? 0]}`,
  );
  return [timeMs, ...lines].join("\n");
}

function valueOf(
  { layout, values, presence }: Frame,
  name: string,
  gpu: string,
  extra: Record<string, string> = {},
): number | string | undefined {
  const slot = layout.series.findIndex(
    ({ metric, labels }) =>
      metric.name === name &&
      labelValue(labels, "gpu") === gpu &&
      Object.entries(extra).every(([key, value]) => labelValue(labels, key) === value),
  );
  if (slot === -1) return undefined;
  return presence[slot] === 0 ? values[slot] : presenceNames[presence[slot] ?? 0];
}

const read = async (source: PolledSource, tier: Tier, timeMs: number): Promise<Frame> =>
  source.read(tier, timeMs, signal);

describe("same seed and same virtual time", () => {
  const url = "sim:8?seed=7&start=2026-01-01T00:00:00Z";

  test("give byte-identical frames, however often the source was polled before", async () => {
    const base = Math.floor(nowMs / 1_000) * 1_000;
    const eager = await polled(url);
    const lazy = await polled(url, nowMs + 300);
    for (let at = 100; at < 90_000; at += 100) await read(eager, "fast", base + at);
    for (const tier of eager.tiers) {
      expect(dump(await read(eager, tier, base + 90_000))).toBe(
        dump(await read(lazy, tier, base + 90_000)),
      );
    }
  });

  test("give the same stream twice", async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => streamed("sim:4?seed=9&speed=max&start=2026-01-01T00:00:00Z&duration=2m")),
    );
    expect(one?.map(dump)).toEqual(two?.map(dump));
    expect(one?.length).toBe(120 + 12 + 1);
  });

  test("give the same physics at sixty times the speed", async () => {
    const base = Math.floor(nowMs / 1_000) * 1_000;
    const slow = await polled(url);
    const quick = await polled(`${url}&speed=60`);
    const [at60s, at1s] = [
      await read(slow, "fast", base + 60_000),
      await read(quick, "fast", base + 1_000),
    ];
    expect(at1s.values).toEqual(at60s.values);
    expect(at1s.timeMs).toBe(base + 1_000);
  });
});

describe.each(["default", "stress", "idle", "faults", "mixed", "mlperf"])(
  "every frame of the scenario %s",
  (scenario) => {
    test("holds only series as the catalogue has them, labelled as what they are", async () => {
      const frames = await streamed(
        `sim:?scenario=${scenario}&speed=max&start=2026-01-01T00:00:00Z&duration=20s`,
      );
      expect(
        new Set(frames.flatMap(({ layout }) => layout.series.map(({ metric }) => metric.tier))),
      ).toEqual(new Set(["fast", "slow", "static"]));
      for (const { layout } of frames) {
        const keys = layout.series.map(seriesKey);
        expect(new Set(keys).size).toBe(keys.length);
        for (const { metric, labels, suffix } of layout.series) {
          expect(catalogue).toContain(metric);
          const own = [
            ...metric.labels.map(({ name }) => name),
            ...identityLabels[metric.subject],
            ...(suffix === "_bucket" ? ["le"] : []),
          ];
          for (const [label] of labels) expect(own).toContain(label);
          if (metric.name === "gpu_info") expect(labelValue(labels, "simulated")).toBe("true");
        }
      }
    });

    test("fails on no reading unless a fault makes it", async () => {
      const frames = await streamed(
        `sim:?scenario=${scenario}&speed=max&start=2026-01-01T00:00:00Z&duration=40s`,
      );
      const absent = new Set(frames.flatMap(({ presence }) => [...presence]));
      expect([...absent].map((code) => presenceNames[code])).not.toContain("failed");
    });
  },
);

test("the scenario stress counts the work of both cards: none while they idle, more of the larger one", async () => {
  const url = "sim:?scenario=stress&speed=max&start=2026-01-01T00:00:00Z&duration=3m";
  const frames = (await streamed(url)).filter(({ layout }) =>
    layout.series.some(({ metric }) => metric.name === "gpu_work_units_total"),
  );
  const units = (frame: Frame | undefined) =>
    frame === undefined
      ? []
      : ["0", "1"].map((gpu) => Number(valueOf(frame, "gpu_work_units_total", gpu)));
  expect(units(frames[30])).toEqual([0, 0]);
  const [large = 0, small = 0] = units(frames.at(-1));
  // Two minutes of a card with 0.066 of an H200's 1,000 units per second, not always at boost.
  expect(small).toBeGreaterThan(120 * 66 * 0.8);
  expect(large / small).toBeGreaterThan(1.05);
});

test("histograms are cumulative and end in the count", async () => {
  const frame = (await streamed("sim:8?speed=max&start=2026-01-01T00:00:00Z&duration=1m")).at(-1);
  if (frame === undefined) return expect.fail();
  const rows = frame.layout.series.flatMap(({ metric, suffix }, slot) =>
    metric.name === "ml_step_duration_seconds" ? [{ suffix, value: frame.values[slot] ?? 0 }] : [],
  );
  const buckets = rows.filter(({ suffix }) => suffix === "_bucket").map(({ value }) => value);
  expect(buckets).toEqual(buckets.toSorted((left, right) => left - right));
  expect(buckets.at(-1)).toBeGreaterThan(0);
  expect(rows.find(({ suffix }) => suffix === "_count")?.value).toBe(buckets.at(-1));
});

test("a lost GPU is down, its readings absent, and the others go on", async () => {
  const source = await polled("sim:8?scenario=faults");
  const frame = await read(source, "fast", nowMs + 15 * 60_000);
  expect(valueOf(frame, "gpu_up", "6")).toBe(0);
  expect(valueOf(frame, "gpu_power_watts", "6")).toBe("failed");
  expect(valueOf(frame, "gpu_up", "5")).toBe(1);
  expect(valueOf(frame, "gpu_power_watts", "5")).toBeGreaterThan(100);
});

test("an XID brings a series of its own with the time it was seen", async () => {
  const source = await polled("sim:8?scenario=faults");
  const before = await read(source, "slow", nowMs + 9 * 60_000);
  const after = await read(source, "slow", nowMs + 11 * 60_000);
  expect(valueOf(before, "gpu_xid_errors_total", "4")).toBeUndefined();
  expect(valueOf(after, "gpu_xid_errors_total", "4", { xid: "31" })).toBe(1);
  expect(valueOf(after, "gpu_xid_last_timestamp_seconds", "4", { xid: "31" })).toBe(
    Math.floor(nowMs / 1_000) + 600,
  );
});

test("a hung driver answers nobody, and close ends the wait", async () => {
  const source = await polled("sim:8?scenario=faults");
  const answer = source.read("fast", nowMs + 40 * 60_000 + 5_000, signal);
  const first = await Promise.race([
    Promise.resolve(answer).then(() => "answered"),
    new Promise((resolve) => setTimeout(resolve, 50, "silent")),
  ]);
  expect(first).toBe("silent");
  await source.close();
});

test("the owner of a GPU is its job and user, and a new job is a new series", async () => {
  const source = await polled("sim:8");
  const owners = async (minute: number): Promise<string[]> => {
    const { layout } = await read(source, "slow", nowMs + minute * 60_000);
    return layout.series
      .filter(({ metric }) => metric.name === "gpu_owner_info")
      .map(({ labels }) => `${labelValue(labels, "user")} ${labelValue(labels, "workload")}`);
  };
  const early = await owners(1);
  expect(early.length).toBeGreaterThan(4);
  expect(early[0]).toMatch(/^[a-z]+ (training|inference|batch)-\d+$/);
  expect(await owners(12)).not.toEqual(early);
});

test("a Radeon reports edge, hotspot and memory, fan turns and voltage; an H200 no fan", async () => {
  const source = await polled("sim:?scenario=mixed");
  const frame = await read(source, "fast", nowMs + 60_000);
  for (const sensor of ["edge", "hotspot", "memory"])
    expect(valueOf(frame, "gpu_temperature_celsius", "4", { sensor })).toBeGreaterThan(30);
  expect(valueOf(frame, "gpu_fan_rpm", "4")).toBeDefined();
  expect(valueOf(frame, "gpu_voltage_volts", "4")).toBeGreaterThan(0.6);
  expect(valueOf(frame, "gpu_fan_speed_ratio", "0")).toBeUndefined();
  expect(valueOf(frame, "gpu_temperature_celsius", "0", { sensor: "hotspot" })).toBeUndefined();
  expect(valueOf(frame, "gpu_temperature_celsius", "3", { sensor: "memory" })).toBeUndefined();
});

test("a sleeping Radeon says so, and nothing else", async () => {
  const source = await polled("sim:?scenario=idle");
  const frame = await read(source, "fast", nowMs + 60_000);
  expect(valueOf(frame, "gpu_power_watts", "2")).toBe("asleep");
  expect(valueOf(frame, "gpu_up", "2")).toBe(1);
  expect(valueOf(frame, "gpu_power_watts", "1")).toBeLessThan(40);
});

test.each([
  ["sim:0", "a whole number from 1"],
  ["sim:8?sead=3", 'Did you mean "seed"?'],
  ["sim:8?speed=fast", "or max to stream"],
  ["sim:8?model=H2000", 'Did you mean "H200"?'],
  ["sim:8?scenario=defalt", 'Did you mean "default"?'],
  ["sim:8?duration=1h", "add speed=max"],
  ["sim:8?start=soon&speed=max", "a time such as"],
])("%s is refused in one sentence", async (url, says) => {
  await expect(open(url)).rejects.toThrow(says);
});

test("a stream ends when it is aborted", async () =>
  expect((await streamed("sim:2?speed=max", 10)).length).toBeLessThan(14));
