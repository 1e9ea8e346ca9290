// The short form of the chaos suite, for every run of the tests: our own processes alone.

import { afterAll, beforeAll, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { Chaos, rounds } from "./counts.ts";
import { storm } from "./storm.ts";

const chaos = new Chaos("short form");
beforeAll(ensureBuild, 300_000);
afterAll(() => chaos.close());

test(
  "whatever fails between an agent and a reader, each sample that was acknowledged is there once",
  { retry: 0, timeout: 300_000 },
  () => storm(chaos, { agents: 2, faults: rounds(8) }),
);
