// The load generator's standard day on the simulated GPUs in virtual time: the load that dashboards will show.

import { expect, test } from "vitest";

import { STANDARD_PATTERN, Schedule } from "./load/pattern.ts";
import { drawRequest, standardMix } from "./load/requests.ts";
import { Fleet, STANDARD_FLEET } from "./ml/fleet.ts";
import { drawOutputTokens, newSequence, tokensOf } from "./ml/sequence.ts";
import { seeded } from "./run/seeded.ts";

const { daySeconds } = STANDARD_PATTERN;
const mix = standardMix(daySeconds);
const nothing = (): void => undefined;

test("over a standard day the GPUs are busy about half of the time, and some are idle", () => {
  const random = seeded(7);
  const watcher = {
    scheduled: nothing,
    firstToken: nothing,
    nextToken: nothing,
    step: nothing,
    preempted: nothing,
    finished: nothing,
  };
  const fleet = new Fleet(STANDARD_FLEET, watcher, random);
  const schedule = new Schedule(STANDARD_PATTERN, 0, random);
  const busy: number[] = [];
  const idle: number[] = [];
  let lastId = 0;
  for (let second = 1; second <= daySeconds; second += 1) {
    for (const due of schedule.take(second)) {
      const { kind, body = "{}" } = drawRequest(mix, ["known"], random);
      const id = `${(lastId += 1)}`;
      const asked = JSON.parse(body) as { prompt: string; max_tokens: number; seconds: number };
      if (kind === "batch") fleet.order({ id, seconds: asked.seconds, gpu: undefined }, due * 1000);
      if (kind !== "completion" && kind !== "slow") continue;
      const [promptTokens, maxTokens] = [tokensOf(asked.prompt), asked.max_tokens];
      const outputTokens = drawOutputTokens(maxTokens, random);
      const sequence = newSequence({ id, promptTokens, maxTokens, outputTokens }, due * 1000);
      fleet.submit(sequence, asked.prompt, due * 1000);
    }
    fleet.advance(second * 1000);
    const loads = fleet.loads(second * 1000);
    busy.push(loads.reduce((sum, load) => sum + load.busy, 0) / loads.length);
    idle.push(loads.filter((load) => load.workload === "idle").length);
  }
  const mean = busy.reduce((sum, value) => sum + value, 0) / busy.length;
  expect(mean).toBeGreaterThan(0.45);
  expect(mean).toBeLessThan(0.65);
  expect(Math.max(...idle)).toBeGreaterThanOrEqual(3);
  expect(Math.min(...idle)).toBeLessThanOrEqual(1);
});
