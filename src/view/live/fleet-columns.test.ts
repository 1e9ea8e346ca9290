import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { seededRandom } from "../../../test/fuzz/mutate.ts";
import { silentLog } from "../../base/log.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import { parseSource } from "../../sources/open.ts";
import { encodeChanges } from "./changes.ts";
import { decodeCurve, encodeCurve } from "./curve-text.ts";
import { LiveFleet } from "./fleet.ts";
import {
  decodeCurves,
  decodeFleet,
  decodeFrame,
  encodeFleet,
  encodeFrame,
} from "./fleet-columns.ts";
import { HISTORY_SECONDS } from "./history.ts";
import { columnKeys, historyKeys, type LiveFrame, type WireFleet } from "./protocol.ts";

const startMs = Date.UTC(2026, 2, 1, 12);

interface Simulated {
  readonly fleet: LiveFleet;
  /** Reads the fleet at this second and updates it. */
  readonly pass: (second: number) => Promise<void>;
}

async function simulated(gpus: number): Promise<Simulated> {
  let nowMs = startMs;
  const { definition, options } = parseSource(`sim:${gpus}`);
  const source = await definition.create(options, {
    host: "lab",
    log: silentLog,
    nowMs: () => nowMs,
    sysfs: "/sys",
    procfs: "/proc",
  });
  if (source.shape !== "polled") return expect.fail("the simulator is polled");
  const fleet = new LiveFleet({ host: "lab", version: "1.2.3" });
  const newest = new Map<string, Delivery>();
  const derive = createDerive();
  return {
    fleet,
    pass: async (second) => {
      nowMs = startMs + second * 1_000;
      // The slower readings first: some of the fast ones are derived from them.
      for (const tier of source.tiers.toReversed()) {
        if (tier !== "fast" && second % 5 !== 0) continue;
        const frame = await source.read(tier, nowMs, new AbortController().signal);
        const devices = source.devices();
        newest.set(tier, derive({ frame, source: "sim", tier, freshForMs: 60_000, devices }));
      }
      fleet.update([...newest.values()], [], nowMs);
    },
  };
}

const overWire = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** What pages may see: values of four digits, without the counters that none shows. */
const hidden = /^(?:interconnect|energy)/;

function expectAlike(decoded: LiveFrame, sent: LiveFrame): void {
  expect(decoded.rows).toHaveLength(sent.rows.length);
  decoded.rows.forEach((row, at) => {
    const other = sent.rows[at];
    expect({ ...row, values: [] }).toEqual(overWire({ ...other, values: [] }));
    row.values.forEach((value, nth) => {
      const [key = "", exact] = [columnKeys[nth], other?.values[nth]];
      if (hidden.test(key)) expect(value).toBe("stale");
      else if (typeof exact === "number" && typeof value === "number")
        expect(Math.abs(value - exact)).toBeLessThanOrEqual(Math.abs(exact) * 5e-4);
      else expect(value).toBe(exact);
    });
  });
}

test.each([0, 1, 2, 40])("a fleet of %i GPUs is the same after the columns", async (gpus) => {
  const { fleet, pass } = await simulated(Math.max(1, gpus));
  if (gpus > 0) for (let second = 0; second < 12; second += 3) await pass(second);
  const whole = fleet.describe();
  const decoded = decodeFleet(overWire(encodeFleet(whole)));
  const { frame: _, ...rest } = overWire(whole);
  const { endSecond, keys } = decoded.history;
  const points = decoded.devices.map((_device, at) => decodeCurves(decoded.history, at));
  const history = { endSecond, keys, points };
  expect({ ...overWire(decoded), history, frame: undefined }).toEqual({
    ...rest,
    frame: undefined,
  });
  expectAlike(decoded.frame, whole.frame);
  expectAlike(decodeFrame(overWire(encodeFrame(whole.frame))), whole.frame);
});

test("the curves of a fleet too large for all of them keep their gaps, and 1 % of their scale", async () => {
  const { fleet, pass } = await simulated(400);
  for (let second = 0; second < 12; second += 3) await pass(second);
  const { history } = fleet.describe();
  expect(history.points[0]?.[0]?.length).toBeLessThan(HISTORY_SECONDS);
  const { history: encoded } = decodeFleet(overWire(encodeFleet(fleet.describe())));
  const decoded = history.points.map((_curves, at) => decodeCurves(encoded, at));
  const most = { utilization: 0.01, memoryUsedRatio: 0.01, power: 7, temperatureEdge: 1 };
  decoded.forEach((curves, at) =>
    curves.forEach((curve, nth) => {
      const [sent = [], key = "power"] = [history.points[at]?.[nth], historyKeys[nth]];
      expect(curve.map((point) => point === null)).toEqual(sent.map((point) => point === null));
      curve.forEach((point, second) => {
        if (point !== null)
          expect(Math.abs(point - (sent[second] ?? -1))).toBeLessThan(most[key] / 2 + 1e-9);
      });
    }),
  );
});

test("rows that differ in throttling, job and age keep what is theirs", () => {
  const values = columnKeys.map(() => 1);
  const frame: LiveFrame = {
    fleet: 3,
    timeMs: 5,
    problems: ["one"],
    rows: [
      { values, ageMs: { fast: 1 }, throttle: ["power_cap"], job: "train", user: "ada" },
      { values, ageMs: {}, throttle: "asleep" },
      { values, ageMs: { fast: 1 }, throttle: [], xids: [{ xid: "79", count: 2, lastMs: 7 }] },
    ],
  };
  const decoded = decodeFrame(overWire(encodeFrame(frame)));
  expectAlike(decoded, frame);
  expect({ ...decoded, rows: [] }).toEqual({ ...frame, rows: [] });
});

test.each(historyKeys)("a curve of %s keeps every step and every gap", (key) => {
  const random = seededRandom(7);
  const reach = key === "power" ? 1_000 : key === "temperatureEdge" ? 120 : 1;
  for (let round = 0; round < 50; round += 1) {
    const calm = random();
    let value = random() * reach;
    const curve = Array.from({ length: HISTORY_SECONDS }, () => {
      if (random() < 0.1) return null;
      value = random() < calm ? value + (random() - 0.5) * reach * 0.01 : random() * reach;
      return Math.max(0, value);
    });
    const decoded = decodeCurve(key, encodeCurve(key, curve));
    // A value that was a step already stays what it is.
    expect(decodeCurve(key, encodeCurve(key, decoded))).toEqual(decoded);
    expect(decoded.map((point) => point === null)).toEqual(curve.map((point) => point === null));
    decoded.forEach((point, at) => {
      const half = key === "power" || key === "temperatureEdge" ? 0.25 : 0.002_5;
      if (point !== null) expect(Math.abs(point - (curve[at] ?? -1))).toBeLessThan(half + 1e-9);
    });
  }
});

test("a curve has no character that would end a script element or needs escaping in JSON", () => {
  const steps = Array.from({ length: 400 }, (_, at) => ((at % 2) * 2 - 1) * at * 0.25 + 200);
  const text = encodeCurve("power", steps);
  expect(text).not.toMatch(/[<"\\]/);
  expect(decodeCurve("power", text)).toHaveLength(400);
});

const sizeKb = (message: unknown): number =>
  gzipSync(JSON.stringify(message), { level: 4 }).length / 1_000;

/** Of the fleet page of 2,000 GPUs, in kB after compression; the whole first visit has 600 kB (test/engines/page-cost.full.test.ts). */
const [MOST_FLEET_KB, MOST_FRAME_KB, MOST_CHANGES_KB] = [240, 55, 42] as const;

test("2,000 GPUs with a full history fit in their share of the first visit, and updates in theirs", async () => {
  const { fleet, pass } = await simulated(2_000);
  let before = fleet.frame;
  const changes: number[] = [];
  for (let second = 0; second < 40; second += 1) {
    await pass(second);
    if (second > 30) changes.push(sizeKb(encodeChanges(before, fleet.frame)));
    before = fleet.frame;
  }
  const whole: WireFleet = fleet.describe();
  const points = whole.history.points.flat(2);
  expect(points.filter((point) => point === null)).toHaveLength(0);
  expect(sizeKb(encodeFleet(whole))).toBeLessThan(MOST_FLEET_KB);
  expect(sizeKb(encodeFrame(whole.frame))).toBeLessThan(MOST_FRAME_KB);
  expect(Math.max(...changes)).toBeLessThan(MOST_CHANGES_KB);
  expect(changes.reduce((sum, size) => sum + size, 0) / changes.length).toBeLessThan(22);
}, 120_000);
