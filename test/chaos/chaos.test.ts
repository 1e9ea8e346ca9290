// The short form of the chaos suite, for every run of the tests: our own processes alone.

import { afterAll, beforeAll, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { alertsUnderFire } from "./alerts.ts";
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
  "an alert and its end are told by webhook and by mail though one is away and the hub is killed",
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
