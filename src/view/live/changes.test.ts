import { expect, test } from "vitest";
import { seededRandom } from "../../../test/fuzz/mutate.ts";
import { applyChanges, encodeChanges } from "./changes.ts";
import { columnKeys, type LiveFrame, type WireRow, type WireValue } from "./protocol.ts";

type Random = () => number;

function choose<Value>(random: Random, values: readonly Value[]): Value {
  const chosen = values[Math.floor(random() * values.length)];
  if (chosen === undefined) throw new Error("nothing to choose from");
  return chosen;
}

const value = (random: Random): WireValue =>
  choose<WireValue>(random, [
    (random() - 0.5) * 10 ** Math.floor(random() * 14 - 3),
    Math.floor(random() * 3),
    choose(random, ["unsupported", "stale", "asleep"] as const),
  ]);

const row = (random: Random): WireRow => ({
  values: columnKeys.map(() => value(random)),
  ageMs: choose(random, [{}, { fast: 1 }, { fast: 2, slow: 3 }]),
  throttle: choose<WireRow["throttle"]>(random, [[], ["power_cap"], "unsupported"]),
  ...(random() < 0.5 ? { job: choose(random, ["train-1", "train-2"]) } : {}),
  ...(random() < 0.2 ? { xids: [{ xid: "79", count: 1 }] } : {}),
});

/** Some frames of one fleet; between two of them some rows and values do not change. */
function frames(random: Random): LiveFrame[] {
  const kept = random();
  let rows = Array.from({ length: Math.floor(random() * 12) }, () => row(random));
  return Array.from({ length: 5 }, (_, timeMs) => {
    rows = rows.map((one) => {
      const next = row(random);
      const values = next.values.map((now, at) =>
        random() < kept ? (one.values[at] ?? now) : now,
      );
      return random() < kept ? { ...one, values } : { ...next, values };
    });
    return { fleet: 7, timeMs, problems: [], rows };
  });
}

const omitted = new Set([
  "interconnectRxTotal",
  "interconnectTxTotal",
  "energyTotal",
  "energyIntegratedTotal",
]);

function expectAlike(applied: LiveFrame, sent: LiveFrame): void {
  expect({ ...applied, rows: [] }).toEqual({ ...sent, rows: [] });
  expect(applied.rows).toHaveLength(sent.rows.length);
  applied.rows.forEach((one, at) => {
    const other = sent.rows[at];
    expect({ ...one, values: [] }).toEqual({ ...other, values: [] });
    one.values.forEach((got, column) => {
      const want = other?.values[column];
      if (omitted.has(columnKeys[column] ?? "")) expect(got).toBe("stale");
      else if (typeof want !== "number") expect(got).toBe(want);
      else expect(Math.abs(Number(got) - want)).toBeLessThanOrEqual(Math.abs(want) * 1.01e-3);
    });
  });
}

test("changes applied one after another give every frame, to four significant digits", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const all = frames(seededRandom(seed));
    let held = all[0];
    all.slice(1).forEach((next, at) => {
      const before = all[at];
      if (before === undefined || held === undefined) throw new Error("no frame before");
      const changes = encodeChanges(before, next);
      if (changes === undefined) throw new Error("no changes of the same fleet");
      held = applyChanges(held, JSON.parse(JSON.stringify(changes)) as typeof changes);
      if (held === undefined) throw new Error("changes do not fit the frame before");
      expectAlike(held, next);
    });
  }
});

test("changes of another frame or fleet are refused", () => {
  const frame = (fleet: number, timeMs: number): LiveFrame => ({
    fleet,
    timeMs,
    problems: [],
    rows: [],
  });
  const changes = encodeChanges(frame(1, 10), frame(1, 20));
  if (changes === undefined) throw new Error("no changes");
  expect(applyChanges(frame(1, 9), changes)).toBeUndefined();
  expect(applyChanges(frame(2, 10), changes)).toBeUndefined();
  expect(encodeChanges(frame(1, 10), frame(2, 20))).toBeUndefined();
});

test("a fleet at rest costs its ages and nothing else", () => {
  const rows: WireRow[] = Array.from({ length: 100 }, () => ({
    values: columnKeys.map(() => 12.3456),
    ageMs: { fast: 100 },
    throttle: [],
  }));
  const changes = encodeChanges(
    { fleet: 1, timeMs: 1, problems: [], rows },
    { fleet: 1, timeMs: 2, problems: [], rows: rows.map((one) => ({ ...one })) },
  );
  expect(changes).toMatchObject({ columns: [], rows: [], ages: [{ fast: 100 }] });
});
