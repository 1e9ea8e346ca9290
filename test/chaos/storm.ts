// Process and network faults at random moments while agents push and a sender writes. Afterwards every acknowledged or
// spooled sample is verified, and processes must be back at their resource baseline.

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

import { type Chaos, flawless, flaws } from "./counts.ts";
import { type ChaosLab, type ChaosLabOptions, openChaosLab } from "./fleet.ts";
import { backToLevel, levelOf } from "./level.ts";

type Fault = (lab: ChaosLab, chaos: Chaos) => Promise<void>;

/**
 * Hours apart and each used once, so that two readings hardly ever have the same timestamp. Frames days ahead are held
 * and get a corrected timestamp; up to ten minutes ahead is accepted.
 */
const clockOffsetsMs = [-3, 192, -7, -1, 216, -5, -2, 240, -6, -4].map(
  (hours) => hours * 3_600_000,
);

const delivering =
  (how: "lose-answer" | "lose-request" | "twice" | "twice-at-once"): Fault =>
  async (lab, chaos) => {
    const before = lab.relay.counts[how];
    lab.deliver = () => (chaos.random() < 0.5 ? how : "well");
    await sleep(chaos.between(800, 1_600));
    lab.deliver = () => "well";
    chaos.fault(how, lab.relay.counts[how] - before);
  };

const weather =
  (kind: string, weatherOf: (chaos: Chaos) => ChaosLab["proxy"]["weather"]): Fault =>
  async (lab, chaos) => {
    lab.proxy.weather = weatherOf(chaos);
    await sleep(chaos.between(500, 1_500));
    lab.proxy.weather = {};
    chaos.fault(kind);
  };

const faults: Readonly<Record<string, Fault>> = {
  "kill -9 of the hub": async (lab, chaos) => {
    await lab.hub.kill();
    await lab.launch();
    // Sometimes a second kill during startup.
    if (chaos.random() < 0.3) {
      await sleep(chaos.between(20, 300));
      await lab.hub.kill();
      await lab.launch();
      chaos.fault("kill -9 of a hub that starts");
    }
    await lab.ready();
    chaos.fault("kill -9 of the hub");
  },
  "kill -9 of an agent": async (lab, chaos) => {
    const agent = chaos.pick(lab.agents);
    await agent.running.kill();
    await sleep(chaos.between(0, 300));
    await agent.start();
    chaos.fault("kill -9 of an agent");
  },
  "hub away": async (lab, chaos) => {
    await lab.hub.kill();
    const agent = chaos.pick(lab.agents);
    await sleep(chaos.between(1_000, 2_000));
    // An agent killed during the outage only has its spool.
    await agent.running.kill();
    await agent.start();
    await sleep(chaos.between(500, 1_500));
    await lab.ready();
    chaos.fault("hub away, an agent killed meanwhile");
  },
  "hub hangs": async (lab, chaos) => {
    process.kill(lab.hub.process.pid, "SIGSTOP");
    await sleep(chaos.between(500, 2_000));
    process.kill(lab.hub.process.pid, "SIGCONT");
    chaos.fault("hub stopped and continued");
  },
  slow: weather("slow network", (chaos) => ({ latencyMs: chaos.between(50, 400) })),
  throttled: weather("throttled network", (chaos) => ({
    bytesPerSecond: chaos.between(2_000, 20_000),
  })),
  "resets in mid-body": weather("resets in mid-body", (chaos) => ({
    resetAfterBytes: Math.round(chaos.between(1, 6_000)),
  })),
  "answers swallowed": async (lab, chaos) => {
    lab.proxy.weather = { deafTo: "answers" };
    await sleep(chaos.between(500, 1_500));
    lab.proxy.weather = {};
    lab.proxy.reset();
    chaos.fault("answers swallowed, then a reset");
  },
  "half-open": async (lab, chaos) => {
    lab.proxy.halfOpen();
    await sleep(chaos.between(500, 1_500));
    lab.proxy.reset();
    chaos.fault("half-open connections");
  },
  "refused connections": weather("refused connections", () => ({ refuses: true })),
  "answers lost": delivering("lose-answer"),
  "requests lost": delivering("lose-request"),
  "delivered twice": delivering("twice"),
  "delivered twice at once": delivering("twice-at-once"),
  "an agent's clock jumps": async (lab, chaos) => {
    const agent = chaos.pick(lab.agents);
    const offsetMs =
      clockOffsetsMs[(chaos.counts.faults["clock jumps"] ?? 0) % clockOffsetsMs.length];
    agent.clock.set(chaos.random() < 0.5 ? (offsetMs ?? 0) : 420_000);
    await sleep(chaos.between(1_000, 2_000));
    agent.clock.set(0);
    await sleep(500);
    chaos.fault("clock jumps", 2);
  },
};

export interface StormOptions extends ChaosLabOptions {
  /** Every kind of fault occurs at least once if this is not less than the number of kinds. */
  readonly faults: number;
  readonly kinds?: readonly string[];
}

export async function storm(chaos: Chaos, options: StormOptions): Promise<void> {
  const lab = await openChaosLab(options);
  try {
    await lab.flowing();
    const hubBefore = levelOf(lab.hub.process.pid);
    const agentsBefore = lab.agents.map(({ running }) => levelOf(running.process.pid));
    const kinds = options.kinds ?? Object.keys(faults);
    const order = shuffled(kinds, chaos);
    for (let turn = 0; turn < options.faults; turn++) {
      const kind = order[turn % order.length] ?? "";
      await sleep(chaos.between(0, 400));
      await faults[kind]?.(lab, chaos);
      expect(lab.hub.process.exited(), lab.hub.process.output()).toBeUndefined();
      // Lets the retry back-off reset, which grows with each failure and would otherwise take most of the run.
      if (turn % 3 === 2) await lab.flowing();
    }
    await lab.calm();
    await backToLevel("the hub", lab.hub.process.pid, hubBefore);
    for (const [at, agent] of lab.agents.entries())
      await backToLevel(agent.hostName, agent.running.process.pid, agentsBefore[at]);
    await verifyAll(lab, chaos);
  } finally {
    await lab.close();
  }
}

/** Verifies all data after the agents have stopped and the network has recovered. */
export async function verifyAll(lab: ChaosLab, chaos: Chaos): Promise<void> {
  await lab.writer.stop();
  for (const { running } of lab.agents) await running.stop();
  const written = chaos.judged(await lab.writer.judge(lab.hubUrl));
  const { missing, lostFrames: _, ...framed } = await lab.ledger.judge(lab.place);
  chaos.judged(framed);
  if (missing.length > 0) process.stderr.write(`${storyOf(lab, chaos)}\n`);
  expect(missing).toEqual([]);
  expect([flaws(written), flaws(framed)]).toEqual([flawless, flawless]);
}

const storyOf = ({ hub, agents }: ChaosLab, { story }: Chaos): string =>
  [
    ...story,
    hub.process.output(),
    ...agents.map(({ hostName, running }) => `${hostName}:\n${running.process.output()}`),
  ].join("\n");

function shuffled<Item>(items: readonly Item[], chaos: Chaos): Item[] {
  const left = [...items];
  const order: Item[] = [];
  while (left.length > 0) order.push(...left.splice(Math.floor(chaos.random() * left.length), 1));
  return order;
}
