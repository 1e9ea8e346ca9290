// Chaos, the main form: every fault of processes, clocks and the network, and alerts while their receivers fail.

import { afterAll, beforeAll, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { alertsUnderFire } from "../chaos/alerts.ts";
import { Chaos, rounds } from "../chaos/counts.ts";
import { storm } from "../chaos/storm.ts";

const chaos = new Chaos("main form");
const careful = { retry: 0, timeout: 900_000 };
beforeAll(ensureBuild, 300_000);
afterAll(() => chaos.close());

test(
  "no fault between agents, senders and a reader costs a sample or brings one twice",
  careful,
  () => storm(chaos, { agents: 3, faults: rounds(16) }),
);

test(
  "every alert and every end of one is reported by webhook and by mail",
  { timeout: 900_000 },
  () => alertsUnderFire(chaos, { rounds: rounds(8) }),
);
