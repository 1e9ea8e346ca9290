import { expect, test } from "vitest";
import { powerSlots } from "./power-slots.ts";
import type { TraceRow } from "./trace.ts";

/** The trace of a card that draws these watts in each 100 ms: means over a second to 0.1 W, read every 50 ms. */
function trace(slots: readonly number[]): TraceRow[] {
  return slots.flatMap((_, index) => {
    const window = Array.from({ length: 10 }, (__, back) => slots[Math.max(0, index - back)] ?? 0);
    const watts = Math.round(window.reduce((sum, slot) => sum + slot, 0)) / 10;
    return [0, 50].map((lateMs) => ({
      timeMs: index * 100 + lateMs,
      utilization: 0,
      memoryUtilization: 0,
      memoryBytes: 0,
      celsius: 30 + (index % 2),
      watts,
      smHertz: 1_980e6,
      powerCapped: false,
    }));
  });
}

const rest = Array.from({ length: 20 }, () => 120);

test.each([
  ["a step", (index: number) => (index < 10 ? 120 : 690)],
  ["bursts of 100 ms", (index: number) => (index % 2 === 0 ? 700 : 130)],
  ["bursts at 1 Hz", (index: number) => (index % 10 < 5 ? 690 : 120)],
  ["bursts out of step with the second", (index: number) => (index % 7 < 3 ? 690 : 120)],
])("the power of every 100 ms is found in a mean over a second: %s", (_, load) => {
  const drawn = [...rest, ...Array.from({ length: 150 }, (__, index) => load(index))];
  const found = powerSlots(trace(drawn), 700).map(({ watts }) => watts);
  expect(found).toHaveLength(drawn.length);
  for (const [index, watts] of drawn.entries())
    expect(Math.abs((found[index] ?? 0) - watts), `slot ${index}`).toBeLessThan(15);
});

test("no slot is below the least reading or over what a card can draw", () => {
  const drawn = [
    ...rest,
    ...Array.from({ length: 60 }, (_, index) => (index % 3 === 0 ? 5_000 : 0)),
  ];
  for (const { watts } of powerSlots(trace(drawn), 700)) {
    expect(watts).toBeGreaterThanOrEqual(0);
    expect(watts).toBeLessThan(946);
  }
});
