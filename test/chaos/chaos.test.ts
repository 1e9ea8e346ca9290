// The short form of the chaos suite, for every test run: only gpulse's own processes.

import { afterAll, beforeAll, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { alertsUnderFire } from "./alerts.ts";
import { agentClockAhead, hubClockBehind, hubClockPastRetention } from "./clocks.ts";
import { Chaos, rounds } from "./counts.ts";
import { descriptorsGone } from "./descriptors.ts";
import { storm } from "./storm.ts";

const chaos = new Chaos("short form");
beforeAll(ensureBuild, 300_000);
afterAll(() => chaos.close());

const careful = { retry: 0, timeout: 300_000 };

test(
  "whatever fails between an agent and a reader, each sample that was acknowledged is there once",
  careful,
  () => storm(chaos, { agents: 2, faults: rounds(7) }),
);

test(
  "an alert and its end are reported by webhook and by mail though one is away and the hub is killed",
  careful,
  () =>
    alertsUnderFire(chaos, {
      rounds: rounds(2),
      kinds: ["webhook down", "kill -9 of the hub before its rules look"],
    }),
);

test("a hub without file descriptors goes on when they are back", careful, (context) =>
  descriptorsGone(chaos, context, 1),
);

test(
  "an agent's clock 8 days ahead for seconds loses nothing: frames are held, then sent with their right time",
  careful,
  () => agentClockAhead(chaos),
);

test("a hub's clock half an hour behind loses nothing: agents hold their frames", careful, () =>
  hubClockBehind(chaos),
);

test("a hub's clock 40 days ahead for 12 s deletes none of 20,000 samples", careful, () =>
  hubClockPastRetention(chaos),
);
