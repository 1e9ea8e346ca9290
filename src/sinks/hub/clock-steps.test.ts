import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import type { Clock } from "../../base/clock.ts";
import { ClockSteps } from "./clock-steps.ts";

const startMs = 1_800_000_000_000;
const day = 86_400_000;
let folder: string;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "gpulse-clock-steps-"))));
afterEach(() => rmSync(folder, { recursive: true }));

/** A machine whose clock the test sets, and which it suspends. */
class Machine {
  elapsedMs = 0;
  suspendedMs = 0;
  setByMs = 0;
  isEmulated = false;
  readonly clock: Clock = {
    nowMs: () => startMs + this.elapsedMs + this.suspendedMs + this.setByMs,
    monotonicMs: () => this.elapsedMs + (this.isEmulated ? this.setByMs : 0),
    uptimeMs: () => this.elapsedMs + this.suspendedMs,
    after: () => () => {},
  };

  open(nextPosition: number, bootId: string | undefined = "boot"): ClockSteps {
    const file = path.join(folder, "clock-steps.json");
    return new ClockSteps({ file, clock: this.clock, bootId, log: silentLog }, nextPosition);
  }

  isPlausible = (timeMs: number): boolean =>
    timeMs <= this.clock.nowMs() && timeMs > this.clock.nowMs() - 30 * day;
}

test("a frame is corrected by every step since it was spooled, exactly", () => {
  const machine = new Machine();
  const steps = machine.open(1);
  machine.elapsedMs = 1_000;
  machine.setByMs = 8 * day;
  steps.observe(5);
  const stampedMs = machine.clock.nowMs();
  machine.elapsedMs = 5_000;
  machine.setByMs = 9 * day;
  steps.observe(9);
  machine.setByMs = 0;
  steps.observe(11);
  expect(steps.correct(stampedMs, 5, machine.isPlausible)).toBe(startMs + 1_000);
  expect(steps.correct(startMs + 5_000 + 9 * day, 10, machine.isPlausible)).toBe(startMs + 5_000);
});

test("a frame that was stamped before the clock was set and spooled after it is corrected", () => {
  const machine = new Machine();
  machine.setByMs = 8 * day;
  const steps = machine.open(1);
  machine.setByMs = 0;
  steps.observe(7);
  expect(steps.correct(startMs + 8 * day, 9, machine.isPlausible)).toBe(startMs);
  // Too many frames later, this cannot be a late frame from before the step.
  expect(steps.correct(startMs + 8 * day, 900, machine.isPlausible)).toBeUndefined();
});

test("steps are known after a restart, also one while nothing ran", () => {
  const machine = new Machine();
  machine.open(1);
  machine.setByMs = 8 * day;
  machine.open(4);
  machine.elapsedMs = 2_000;
  machine.setByMs = 0;
  const steps = machine.open(8);
  expect(steps.correct(startMs + 1_000 + 8 * day, 5, machine.isPlausible)).toBe(startMs + 1_000);
});

test.for([
  ["after another boot", "another"],
  ["where the system has no boot id", undefined],
] as const)("%s nothing is known of what came before it", ([, bootId]) => {
  const machine = new Machine();
  machine.setByMs = 8 * day;
  machine.open(1, bootId === undefined ? undefined : "boot");
  machine.setByMs = 0;
  const file = path.join(folder, "clock-steps.json");
  const clock = machine.clock;
  const steps = new ClockSteps({ file, clock, bootId, log: silentLog }, 5);
  expect(steps.correct(startMs + 8 * day, 4, machine.isPlausible)).toBeUndefined();
});

test("a machine that was suspended has not had its clock set", () => {
  const machine = new Machine();
  const steps = machine.open(1);
  machine.suspendedMs = 40 * day;
  steps.observe(2);
  expect(steps.correct(startMs, 1, machine.isPlausible)).toBeUndefined();
});

test("a step is noticed where the monotonic clock jumps along, as under an emulator", () => {
  const machine = new Machine();
  const steps = machine.open(1);
  machine.isEmulated = true;
  machine.setByMs = 8 * day;
  steps.observe(2);
  machine.elapsedMs = 4_000;
  machine.setByMs = 0;
  steps.observe(5);
  expect(steps.correct(startMs + 1_000 + 8 * day, 3, machine.isPlausible)).toBe(startMs + 1_000);
});

test("a clock that is set all the time is remembered as far as there is room", () => {
  const machine = new Machine();
  const steps = machine.open(1);
  for (let position = 2; position <= 200; position++) {
    machine.setByMs = position % 2 === 0 ? 8 * day : 0;
    steps.observe(position);
  }
  machine.setByMs = 0;
  steps.observe(201);
  expect(steps.correct(startMs + 8 * day, 198, machine.isPlausible)).toBe(startMs);
  expect(steps.correct(startMs + 8 * day, 2, machine.isPlausible)).toBeUndefined();
});

test("a damaged file is as good as none", () => {
  const machine = new Machine();
  machine.open(1);
  writeFileSync(path.join(folder, "clock-steps.json"), "{nonsense");
  const steps = machine.open(5);
  expect(steps.correct(startMs, 4, machine.isPlausible)).toBe(startMs);
});
