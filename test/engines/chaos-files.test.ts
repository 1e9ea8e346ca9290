// Chaos: damaged files, a full and a read-only disk, no free file descriptors.

import { afterAll, beforeAll, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { Chaos, rounds } from "../chaos/counts.ts";
import { descriptorsGone } from "../chaos/descriptors.ts";
import { runDiskFaults } from "../chaos/disk.ts";
import { damageFiles } from "../chaos/damage.ts";

const chaos = new Chaos("files and descriptors");
const careful = { retry: 0, timeout: 600_000 };
beforeAll(ensureBuild, 300_000);
afterAll(() => chaos.close());

test("harmed files lose what is harmed and say so, and nothing else", careful, () =>
  damageFiles(chaos, rounds(1)),
);

test("a disk that is full or read-only loses nothing that was acknowledged", careful, (context) =>
  runDiskFaults(chaos, context, rounds(1)),
);

test("a hub without file descriptors goes on when they are back", careful, (context) =>
  descriptorsGone(chaos, context, rounds(2)),
);
