// Chaos, the long form: a hub that is down for half an hour while agents spool, and many consecutive faults.
// CHAOS_OUTAGE_MINUTES sets the length of the outage.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { alertsUnderFire } from "../chaos/alerts.ts";
import { Chaos, rounds } from "../chaos/counts.ts";
import { openChaosLab } from "../chaos/fleet.ts";
import { backToLevel, levelOf } from "../chaos/level.ts";
import { verifyAll, storm } from "../chaos/storm.ts";

const outageMinutes = Number(process.env["CHAOS_OUTAGE_MINUTES"] ?? 30);
const chaos = new Chaos("long form");
const careful = { retry: 0, timeout: 7_200_000 };
beforeAll(ensureBuild, 300_000);
afterAll(() => chaos.close());

test(
  "a hub that is away for half an hour has every frame and every sample when it is back",
  careful,
  async () => {
    const lab = await openChaosLab({ agents: 3, interval: "1s", patienceMs: 600_000 });
    try {
      await lab.flowing();
      const before = lab.agents.map(({ running }) => levelOf(running.process.pid));
      await lab.hub.kill();
      // Each agent is killed once during the outage, a quarter of it apart.
      for (const agent of lab.agents) {
        await sleep((outageMinutes * 60_000) / 4);
        await agent.running.kill();
        await agent.start();
      }
      await sleep((outageMinutes * 60_000) / 4);
      chaos.fault(`hub away for ${outageMinutes} minutes`);
      chaos.fault("kill -9 of an agent", lab.agents.length);
      await lab.calm();
      for (const [at, { hostName, running }] of lab.agents.entries())
        await backToLevel(hostName, running.process.pid, before[at]);
      await verifyAll(lab, chaos);
    } finally {
      await lab.close();
    }
  },
);

test("a hundred faults cost no sample", careful, () =>
  storm(chaos, { agents: 3, faults: rounds(100) }),
);

test("every alert is reported through thirty problems", careful, () =>
  alertsUnderFire(chaos, { rounds: rounds(30) }),
);
