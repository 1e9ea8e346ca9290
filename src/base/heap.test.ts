import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";

test("a collection survives another thread that clears the flag it needs", async () => {
  const clearing = `
    const { setFlagsFromString } = require("node:v8");
    const { parentPort } = require("node:worker_threads");
    parentPort.postMessage("started");
    for (;;) setFlagsFromString("--no-expose-gc");`;
  const worker = new Worker(clearing, { eval: true });
  try {
    await new Promise((resolve) => worker.once("message", resolve));
    for (let round = 0; round < 50; round++) {
      // A new instance of the module each time, which has not looked up `gc` yet.
      const path = `./heap.ts?round=${round}`;
      const { collectGarbage } = (await import(path)) as { collectGarbage: () => void };
      expect(() => collectGarbage()).not.toThrow();
    }
  } finally {
    await worker.terminate();
  }
});
