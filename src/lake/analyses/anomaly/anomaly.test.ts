import { describe, expect, test } from "vitest";
import { Random } from "../../../sources/sim/random.ts";
import { Episode } from "./episode.ts";
import {
  type FixtureValues,
  makeFrames,
  startMs,
  summary,
  watchAll,
} from "../../../../test/fixtures/lake/analyses-anomaly.ts";
import { Peers } from "./peers.ts";
import { AnomalySeries } from "./series.ts";
import { kindOfWork, Measure } from "./work.ts";

const minute = 60;
const gb = 1e9;

/** A card whose temperature follows its power, alternating between busy and idle every four minutes. */
function ordinary(
  second: number,
  random: Random,
): Required<Pick<FixtureValues, "watts" | "utilization" | "celsius" | "memoryBytes">> {
  const isBusy = Math.floor(second / (4 * minute)) % 2 === 0;
  const sinceSwitch = second % (4 * minute);
  const watts = isBusy ? 500 : 120;
  const settled = 30 + 0.05 * watts;
  const before = 30 + 0.05 * (isBusy ? 120 : 500);
  return {
    watts: watts + random.between(-5, 5),
    utilization: isBusy ? 0.95 : 0,
    celsius: Math.round(settled + (before - settled) * Math.exp(-sinceSwitch / 20)),
    memoryBytes: 40 * gb,
  };
}

function watchOrdinary(
  minutes: number,
  change: (second: number, usual: ReturnType<typeof ordinary>) => FixtureValues | undefined,
) {
  const random = new Random(1, "made-up");
  return watchAll(
    makeFrames(minutes * minute, (second) => change(second, { ...ordinary(second, random) })),
  );
}

test("a load that starts and stops is nothing to report on", () => {
  expect(summary(watchOrdinary(180, (_, usual) => usual).began)).toEqual([]);
});

test("a capped load that swings is no stuck clock and no straggler where it is read every 15 s", () => {
  const random = new Random(2, "made-up");
  const freeUntil = 60 * minute;
  const frames = makeFrames(5 * 60 * minute, (second) => {
    if (second % 15 !== 0) return undefined;
    const isCapped = second >= freeUntil;
    return {
      // Its power peaks at the cap are hardly ever sampled.
      watts: isCapped ? random.between(320, 560) : random.between(200, 300),
      utilization: 0.98,
      clockHertz: isCapped ? 1_755e6 : 1_980e6,
      powerCapped: Number(isCapped),
      job: isCapped ? "training-2" : "inference-1",
    };
  });
  expect(summary(watchAll(frames).began)).toEqual([]);
});

/** dcgm-exporter's default metrics for a load that is at its power cap every other quarter of an hour. */
const scrapedByDcgm = (second: number, random: Random): FixtureValues => {
  const isCapped = Math.floor(second / (15 * minute)) % 2 === 1;
  return {
    watts: isCapped ? random.between(640, 700) : random.between(300, 400),
    utilization: 0.98,
    memoryUtilization: isCapped ? 0.6 : 0.3,
    smHertz: isCapped ? random.between(1_300e6, 1_600e6) : 1_980e6,
    linkGeneration: 5,
  };
};

function watchScraped(change: (second: number, usual: FixtureValues) => FixtureValues) {
  const random = new Random(3, "made-up");
  const frames = makeFrames(
    3 * 60 * minute,
    (second) => (second % 15 === 0 ? change(second, scrapedByDcgm(second, random)) : undefined),
    false,
  );
  return summary(watchAll(frames).began);
}

test("without a limit, a reason or a graphics clock, a power cap is no stuck clock, and a stuck clock is found", () => {
  expect(watchScraped((_, usual) => usual)).toEqual([]);
  const stuckFrom = 150 * minute;
  const found = watchScraped((second, usual) =>
    second < stuckFrom ? usual : { ...usual, watts: 180, smHertz: 600e6 },
  );
  expect(found).toEqual(["0 clock_low"]);
});

test("a link of which only the generation is reported is degraded by that alone", () => {
  const found = watchScraped((second, usual) =>
    second < 150 * minute ? usual : { ...usual, linkGeneration: 1 },
  );
  expect(found).toEqual(["0 link_degraded"]);
});

test("a jump of temperature at steady power is reported within a minute, and its end too", () => {
  const from = 124 * minute + 100;
  const { changes } = watchOrdinary(150, (second, usual) => ({
    ...usual,
    celsius: usual.celsius + (second >= from && second < from + 6 * minute ? 15 : 0),
  }));
  expect(changes.map(({ change, anomaly }) => `${change} ${anomaly.kind}`)).toEqual([
    "began temperature_spike",
    "ended temperature_spike",
  ]);
  const reported = changes[0]?.anomaly;
  expect(reported?.toldMs).toBeLessThan(startMs + (from + minute) * 1_000);
  expect((reported?.seen ?? 0) - (reported?.expected ?? 0)).toBeGreaterThan(12);
});

/**
 * Two hours of loads from idle to full, then bad cooling under full load for 20 minutes, then `load` watts with `extra` degrees.
 */
function coolingAfter(load: number, extra: number): string[] {
  const random = new Random(4, "made-up");
  const loads = [120, 250, 350, 450, 600];
  const badFrom = 120 * minute;
  const badTo = badFrom + 20 * minute;
  const frames = makeFrames(badTo + 30 * minute, (second) => {
    const usual = loads[Math.floor(second / (5 * minute)) % loads.length] ?? 0;
    const isBad = second >= badFrom && second < badTo;
    const watts = isBad ? 600 : second >= badTo ? load : usual;
    const more = isBad ? 14 : second >= badTo ? extra : 0;
    return {
      watts: watts + random.between(-5, 5),
      utilization: watts > 200 ? 0.95 : 0,
      celsius: 30 + 0.05 * watts + more + random.between(-1, 1),
    };
  });
  return watchAll(frames).changes.map(({ change, anomaly }) => `${change} ${anomaly.kind}`);
}

test.each([
  ["half the load without a degree too much ends it", 330, 0, ["began", "ended"]],
  ["half the load with half the degrees does not", 330, 7.5, ["began"]],
  ["an idle card decides nothing", 120, 0, ["began"]],
] as const)("bad cooling that showed under full load: %s", (_what, load, extra, changes) => {
  const heat = coolingAfter(load, extra).filter((line) => line.includes("cooling_degraded"));
  expect(heat).toEqual(changes.map((change) => `${change} cooling_degraded`));
});

test("a GPU that does less of little work is a straggler where memory and power agree", () => {
  const random = new Random(6, "made-up");
  const slowFrom = 60 * minute;
  const watch = (hasTraffic: boolean) =>
    watchAll(
      makeFrames(slowFrom + 20 * minute, (second) => {
        // Requests come and go within seconds: short busy and idle phases, on average busy for a fifth of the time.
        const utilization = random.between(0, 0.4);
        const done = second < slowFrom ? 1 : 0.6;
        return {
          watts: 100 + 1_000 * utilization * done,
          utilization,
          celsius: 45,
          clockHertz: 1_980e6,
          job: "inference-1",
          ...(hasTraffic ? { memoryUtilization: 0.25 * utilization * done } : {}),
        };
      }),
    ).began;
  expect(summary(watch(true))).toEqual(["0 straggler"]);
  expect(summary(watch(false))).toEqual([]);
});

test("power that jumps while the load does not is reported at once", () => {
  const from = 128 * minute + 120;
  const { began } = watchOrdinary(140, (second, usual) => ({
    ...usual,
    watts: usual.watts + (second >= from && second < from + 20 ? 230 : 0),
  }));
  expect(summary(began)).toContain("0 power_spike");
  expect(began[0]?.says).toMatch(/\d+ W more than/);
  expect(began[0]?.toldMs).toBeLessThanOrEqual(startMs + (from + 6) * 1_000);
});

test("power far over its limit is reported, whatever the load", () => {
  const { began } = watchOrdinary(40, (second, usual) => ({
    ...usual,
    watts: second > 33 * minute && second < 34 * minute ? 850 : usual.watts,
  }));
  expect(summary(began)).toContain("0 power_spike");
});

describe("memory of one job", () => {
  const job = (
    bytes: (second: number) => number,
    minutes = 40,
    name: (second: number) => string | undefined = () => "llm-1",
  ): string[] => {
    const { began } = watchOrdinary(minutes, (second, usual) => {
      const owner = name(second);
      return {
        ...usual,
        memoryBytes: bytes(second),
        ...(owner === undefined ? {} : { job: owner }),
      };
    });
    return summary(began);
  };

  test.each([
    ["grows without end", (second: number) => 20 * gb + second * 0.02 * gb, ["0 memory_leak"]],
    [
      "grows slowly without end",
      (second: number) => 20 * gb + second * 0.005 * gb,
      ["0 memory_leak"],
    ],
    ["is loaded and stays", (second: number) => Math.min(60, second / 2) * gb, []],
    [
      "fills a cache ever more slowly",
      (second: number) => (60 - 50 * Math.exp(-second / 300)) * gb,
      [],
    ],
    ["goes up and down", (second: number) => (40 + 20 * Math.sin(second / 100)) * gb, []],
    ["grows in one step", (second: number) => (second > 1_200 ? 60 : 20) * gb, []],
  ] as const)("that %s", (_what, bytes, reported) => {
    expect(job(bytes)).toEqual(reported);
  });

  test("that grows from one short job to the next is no leak", () => {
    const bytes = (second: number): number => (20 + second / 60) * gb;
    expect(job(bytes, 40, (second) => `job-${Math.floor(second / 300)}`)).toEqual([]);
  });

  test("leaks where nobody reports whose it is, too", () => {
    expect(
      job(
        (second) => 20 * gb + second * 0.02 * gb,
        40,
        () => undefined,
      ),
    ).toEqual(["0 memory_leak"]);
  });

  test("a leak ends with its job", () => {
    const { changes } = watchOrdinary(60, (second, usual) => ({
      ...usual,
      memoryBytes: second < 1_800 ? 20 * gb + second * 0.02 * gb : 20 * gb,
      job: second < 1_800 ? "llm-1" : "llm-2",
    }));
    expect(changes.map(({ change }) => change)).toEqual(["began", "ended"]);
  });
});

test("readings that are absent are no zeroes: a card that reports little is watched for the rest", () => {
  const { began } = watchOrdinary(60, (second) => ({
    watts: 300,
    memoryBytes: 20 * gb + second * 0.02 * gb,
  }));
  expect(summary(began)).toEqual(["0 memory_leak"]);
});

test("gaps, doubles and frames that come late do no harm", () => {
  const random = new Random(1, "gaps");
  const frames = [
    ...makeFrames(120 * minute, (second) =>
      second % 1_000 > 900 || random.chance(0.05) ? undefined : ordinary(second, random),
    ),
  ];
  const shuffled = frames.flatMap((frame, at) =>
    at % 50 === 0 ? [frame, frame, frames[at - 20] ?? frame] : [frame],
  );
  expect(summary(watchAll(shuffled).began)).toEqual([]);
});

test("what is no longer heard of is claimed no more, and forgotten after a day", () => {
  const { changes, watch } = watchOrdinary(150, (second, usual) =>
    second > 126 * minute
      ? undefined
      : { ...usual, celsius: usual.celsius + (second >= 124 * minute + 60 ? 20 : 0) },
  );
  expect(changes.map(({ change }) => change)).toEqual(["began"]);
  const other = { layout: { series: [] }, values: new Float64Array(), presence: new Uint8Array() };
  watch.take({ frame: { timeMs: startMs + 150 * minute * 1_000, ...other } });
  expect(changes.map(({ change }) => change)).toEqual(["began", "ended"]);
  watch.take({ frame: { timeMs: startMs + 2 * 86_400_000, ...other } });
  expect([...watch.devices]).toEqual([]);
});

test("an anomaly is a series while it lasts, and ends with it", () => {
  const { watch } = watchOrdinary(126, (second, usual) => ({
    ...usual,
    celsius: usual.celsius + (second >= 124 * minute + 60 ? 20 : 0),
  }));
  const series = new AnomalySeries();
  const [one] = series.byHost(startMs, watch);
  const active = one?.frame.layout.series.find(
    ({ metric }) => metric.name === "gpu_anomaly_active",
  );
  expect(Object.fromEntries(active?.labels ?? [])).toEqual({
    uuid: "GPU-made-up",
    gpu: "0",
    host: "lab",
    kind: "temperature_spike",
    severity: "warning",
  });
  for (const device of watch.devices) device.end(startMs, () => {});
  const names = series
    .byHost(startMs + 1, watch)
    .flatMap(({ frame }) => frame.layout.series.map(({ metric }) => metric.name));
  expect(names).not.toContain("gpu_anomaly_active");
});

test("an episode begins once it has held, ends once it has not, and waits while nothing can be said", () => {
  const episode = new Episode({ beginAfterMs: 20, endAfterMs: 30 });
  const looks = [true, false, true, true, undefined, false, false, undefined, false];
  expect(looks.map((verdict, at) => episode.look(at * 10, 10, verdict))).toEqual([
    undefined,
    undefined,
    undefined,
    "began",
    undefined,
    undefined,
    undefined,
    undefined,
    "ended",
  ]);
});

test("what has been so for a day is how it is now", () => {
  const episode = new Episode({ beginAfterMs: 1, endAfterMs: 1 });
  expect(episode.look(0, 1, true)).toBe("began");
  expect(episode.look(23 * 3_600_000, 1, true)).toBeUndefined();
  expect(episode.look(24 * 3_600_000, 1, true)).toBe("ended");
});

test("the room is what most cards of a machine show, and nothing where they are too few", () => {
  const peers = new Peers();
  const tell = (values: readonly number[], timeMs: number): number[] =>
    values.map((value, at) => peers.offBy("lab", `gpu-${at}`, timeMs, value, 10));
  tell([5, 5, 6, 5, 20], 0);
  expect(tell([5, 5, 6, 5, 20], 10)).toEqual([5, 5, 5, 5, 5]);
  const few = new Peers();
  few.offBy("lab", "a", 0, 5, 10);
  expect(few.offBy("lab", "b", 10, 5, 10)).toBe(0);
});

test("kinds of work are remembered up to a bound, the least used go first", () => {
  const peers = new Peers();
  const first = peers.work("first");
  for (let at = 0; at < 2_200; at++) {
    peers.work(`kind-${at}`);
    if (at < 1_000) expect(peers.work("first")).toBe(first);
  }
  expect(peers.work("first")).not.toBe(first);
});

test("runs of a kind are remembered up to a bound, and the limit lies beyond the worst of them", () => {
  const measure = new Measure();
  expect(measure.limit(0.06, 5)).toBeUndefined();
  for (let at = 0; at < 200; at++) measure.ran(at % 10 === 0 ? 0.15 : 0);
  expect(measure.runs).toBe(48);
  expect(measure.limit(0.06, 5)?.limit).toBeGreaterThan(0.15);
});

test.each([
  ["training-12", "training"],
  ["resnet_000123", "resnet"],
  ["ml/llm-serve-7c9f8d6b5-x2k4p", "ml/llm-serve"],
  ["ml/train-job-x7k2p", "ml/train-job"],
  ["finetune", "finetune"],
  ["4711", "4711"],
  ["ml/4711", "ml/4711"],
])("%s is a run of %s", (owner, kind) => {
  expect(kindOfWork(owner)).toBe(kind);
});

test("GPUs of two hosts with one uuid are watched apart", () => {
  const { watch } = watchAll(
    ["ws-1", "ws-2"].flatMap((host, at) =>
      [...makeFrames(10, () => ({ watts: 20 + at * 280 }))].map((frame) => ({
        ...frame,
        layout: {
          series: frame.layout.series.map((series) => ({
            ...series,
            labels: series.labels.map(
              ([name, value]) => [name, name === "host" ? host : value] as const,
            ),
          })),
        },
      })),
    ),
  );
  const devices = [...watch.devices];
  expect(devices.map(({ device, readings }) => [device.host, readings.get("powerWatts")])).toEqual([
    ["ws-1", 20],
    ["ws-2", 300],
  ]);
});
