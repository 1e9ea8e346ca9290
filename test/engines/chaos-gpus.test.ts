// Chaos: hanging drivers, GPUs that are lost and return, an nvidia-smi that never ends.

import { afterAll, beforeAll, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { Chaos, rounds } from "../chaos/counts.ts";
import { runDriverFaults, smiHangs } from "../chaos/gpus.ts";
import { buildStub } from "../nvml-stub/stub.ts";

const chaos = new Chaos("GPUs");
const careful = { retry: 0, timeout: 600_000 };
beforeAll(ensureBuild, 300_000);
afterAll(() => chaos.close());

test(
  "a driver that hangs and a GPU that is lost are reported, and are back",
  careful,
  async (context) => {
    toolOrSkip(context, "gcc");
    const stub = await buildStub();
    try {
      await runDriverFaults(chaos, stub, rounds(1));
    } finally {
      stub.remove();
    }
  },
);

test("an nvidia-smi that never ends is reported, and is back", careful, () => smiHangs(chaos));
