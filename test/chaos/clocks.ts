// Clocks that are wrong for seconds: an agent's by days, the hub's by half an hour or by more than its retention.
// Nothing may be lost, and the log and the metrics must report it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

import { WriteClient, WriteRequests } from "../../bench/remote-write.ts";
import { startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { queryHub } from "../../engines/push.ts";
import { waitUntil } from "../../engines/wait.ts";
import { labelSet } from "../../src/model/labels.ts";
import { clockIn } from "./clock.ts";
import type { Chaos } from "./counts.ts";
import { type ChaosLab, type LabAgent, openChaosLab } from "./fleet.ts";
import { verifyAll } from "./storm.ts";

const PATIENCE_MS = 90_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const textOf = async (url: string): Promise<string> => (await fetch(url)).text();

/** The value of the first sample of a metric on a process's own metrics page. */
const metricOf = async (agent: LabAgent, name: string): Promise<number> => {
  const page = await textOf(`http://127.0.0.1:${agent.port}/metrics`);
  return Number(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, "m").exec(page)?.[1]);
};

/** How often a process has logged a message. */
const timesLogged = ({ running }: LabAgent, sentence: string): number =>
  running.process.output().split(sentence).length - 1;

async function inLab(agents: number, faults: (lab: ChaosLab) => Promise<void>, chaos: Chaos) {
  const lab = await openChaosLab({ agents });
  try {
    await lab.flowing();
    await faults(lab);
    await lab.calm();
    await verifyAll(lab, chaos);
  } finally {
    await lab.close();
  }
}

/** Frames are in the spool while the clock jumps: by their apparent age they would exceed `--spool-age` by a day. */
export const agentClockAhead = (chaos: Chaos): Promise<void> =>
  inLab(
    1,
    async (lab) => {
      const [agent] = lab.agents;
      if (agent === undefined) throw new Error("BUG: no agent");
      await lab.hub.kill();
      await sleep(2_000);
      agent.clock.set(8 * DAY_MS);
      await sleep(1_000);
      // The recorded clock steps must survive the agent.
      await agent.running.kill();
      await agent.start();
      chaos.fault("kill -9 of an agent");
      await lab.ready();
      await waitUntil({ what: "the agent to hold its frames", timeoutMs: PATIENCE_MS }, async () =>
        timesLogged(agent, "held until the clocks agree") > 0 ? true : undefined,
      );
      expect(await metricOf(agent, "gpulse_ship_clock_difference_seconds")).toBeCloseTo(
        8 * 86_400,
        -2,
      );
      await sleep(2_000);
      agent.clock.set(0);
      chaos.fault("an agent's clock 8 d ahead");
      await lab.calm();
      expect(timesLogged(agent, "held until the clocks agree")).toBe(1);
      expect(timesLogged(agent, "stamped by a clock that was wrong")).toBe(1);
      expect(await metricOf(agent, "gpulse_ship_restamped_samples_total")).toBeGreaterThan(0);
      expect(await metricOf(agent, "gpulse_ship_clock_difference_seconds")).toBeCloseTo(0, 0);
    },
    chaos,
  );

export const hubClockBehind = (chaos: Chaos): Promise<void> =>
  inLab(
    2,
    async (lab) => {
      lab.hubClock.set(-30 * MINUTE_MS);
      for (const agent of lab.agents)
        await waitUntil({ what: "agents to hold frames", timeoutMs: PATIENCE_MS }, async () =>
          timesLogged(agent, "held until the clocks agree") > 0 ? true : undefined,
        );
      await sleep(4_000);
      expect(await textOf(`${lab.hubUrl}/-/ready`)).toMatch(/clock is 30m.* ahead/);
      lab.hubClock.set(0);
      chaos.fault("the hub's clock 30 min behind");
      await lab.calm();
      for (const agent of lab.agents) {
        expect(timesLogged(agent, "held until the clocks agree")).toBe(1);
        expect(await metricOf(agent, "gpulse_ship_restamped_samples_total")).toBe(0);
      }
    },
    chaos,
  );

const SERIES = 100;
const SAMPLES_EACH = 200;

/** 40 days ahead for 12 s with a retention of 30 days: all data in the log and in blocks is past retention by that clock. */
export async function hubClockPastRetention(chaos: Chaos): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-chaos-"));
  const clock = clockIn(folder, "hub");
  const env = Object.entries(clock.env).map(([name, value]) => `${name}=${value}`);
  const place = { dataDir: path.join(folder, "data"), port: await freePort() };
  const hub = await startHub({
    ...place,
    args: ["--retention=30d"],
    under: ["env", ...env],
  });
  const client = new WriteClient(hub.url);
  try {
    const requests = new WriteRequests(
      Array.from({ length: SERIES }, (_, series) =>
        labelSet({ __name__: "chaos_retained", series: String(series) }),
      ),
    );
    const fromMs = Date.now() - SAMPLES_EACH * 1_000;
    for (let at = 0; at < SAMPLES_EACH; at++) {
      const body = requests.encode(0, SERIES, [fromMs + at * 1_000], (series) => at + series);
      expect((await client.send(body)).status).toBe(204);
      // The first half is sealed into a block.
      if (at === SAMPLES_EACH / 2)
        await fetch(`${hub.url}/api/v1/admin/tsdb/snapshot`, { method: "POST" });
    }
    const stored = async (): Promise<number> => {
      const found = await queryHub(place, "chaos_retained[1h]");
      return found.reduce((sum, { values = [] }) => sum + values.length, 0);
    };
    expect(await stored()).toBe(SERIES * SAMPLES_EACH);
    clock.set(40 * DAY_MS);
    await sleep(12_000);
    clock.set(0);
    await sleep(1_000);
    chaos.fault("the hub's clock 40 d ahead");
    const acknowledged = SERIES * SAMPLES_EACH;
    const lost = acknowledged - (await stored());
    chaos.judged({ acknowledged, lost, duplicated: 0, wrong: 0, unexplained: 0 });
    expect(lost).toBe(0);
  } finally {
    client.close();
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
