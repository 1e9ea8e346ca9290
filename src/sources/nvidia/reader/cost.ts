/**
 * Assigns tiers by measured cost. A call's cost differs by card, driver and virtualisation: on an H200 most take a microsecond,
 * but the margin takes 0.9 ms, two of the throttle counters 0.3 ms each and BAR1 0.17 ms. Costly calls leave the fast pass and
 * are made as often as a fixed share of one processor allows.
 */
import type { NvmlCard } from "./card.ts";
import { FieldBatch, type NvmlField } from "./fields.ts";
import type { Task } from "./task.ts";

const dearMs = 0.05;
/** Share of one processor that a costly reading may use. */
const share = 0.0004;
const oftenestMs = 2_000;
/** Also the interval of costly counters, which lose nothing by being read less often. */
const rarestMs = 5_000;

/** Runs every fast task of the card a few times and moves the costly ones to the slow schedule. */
export function demoteCostlyTasks(card: NvmlCard, nowMs: number): void {
  const keep: Task[] = [];
  for (const task of card.fast) {
    if (task instanceof FieldBatch) {
      keep.push(...splitFields(card, task, nowMs));
      continue;
    }
    task.costMs = measureMs(task, nowMs);
    if (task.costMs <= dearMs) keep.push(task);
    else card.scheduler.push(slower(task, false));
  }
  card.fast.splice(0, card.fast.length, ...keep);
}

/** Fields differ in cost, so each is measured separately. */
function splitFields(card: NvmlCard, batch: FieldBatch, nowMs: number): Task[] {
  const cheap: NvmlField[] = [];
  for (const field of batch.fields) {
    const alone = batch.split(`${batch.name} ${field.id}`, 0, [field]);
    alone.costMs = measureMs(alone, nowMs);
    if (alone.costMs <= dearMs) cheap.push(field);
    else card.scheduler.push(slower(alone, field.isCounter === true));
  }
  if (cheap.length === 0) return [];
  const rest = batch.split(batch.name, 0, cheap);
  rest.costMs = measureMs(rest, nowMs);
  return [rest];
}

function slower(task: Task, isCounter: boolean): Task {
  const everyMs = Math.min(rarestMs, Math.max(oftenestMs, task.costMs / share));
  task.everyMs = isCounter ? rarestMs : everyMs;
  return task;
}

/** The minimum of three runs: the first call of a kind may initialise something. */
function measureMs(task: Task, nowMs: number): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 3; turn++) {
    const startMs = performance.now();
    task.run(nowMs);
    leastMs = Math.min(leastMs, performance.now() - startMs);
  }
  return leastMs;
}
