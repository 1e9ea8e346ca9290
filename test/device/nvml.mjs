// NVML asked directly, beside the agent: the hardware's energy counter, and what a fast pass of the built NVML process costs.

import { fork } from "node:child_process";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

/** The hardware's own counter, asked here and not through the agent. */
export function energyReader(/** @type {string} */ libraryFile) {
  const koffi = /** @type {typeof import("koffi")} */ (createRequire(import.meta.url)("koffi"));
  const library = koffi.load(libraryFile);
  const call = (/** @type {string} */ name, /** @type {string[]} */ types) =>
    /** @type {(...args: (number | Buffer)[]) => number} */ (library.func(name, "int", types));
  call("nvmlInit_v2", [])();
  const handle = Buffer.alloc(8);
  call("nvmlDeviceGetHandleByIndex_v2", ["unsigned int", "void *"])(0, handle);
  const read = call("nvmlDeviceGetTotalEnergyConsumption", ["uint64_t", "void *"]);
  const energy = Buffer.alloc(8);
  return () => {
    const code = read(Number(handle.readBigUInt64LE(0)), energy);
    return code === 0 ? Number(energy.readBigUInt64LE(0)) / 1_000 : Number.NaN;
  };
}

/** Many passes in a row in a process of its own, with nothing else going on. */
export async function fastPass(
  /** @type {string} */ workerFile,
  /** @type {string} */ libraryFile,
) {
  const settings = JSON.stringify({ libraries: [libraryFile], sysfs: "/sys" });
  const worker = fork(workerFile, [settings], { serialization: "advanced" });
  const ask = (
    /** @type {import("../../src/sources/nvidia/protocol.ts").WorkerRequest} */ request,
  ) =>
    new Promise(
      (
        /** @type {(answer: import("../../src/sources/nvidia/protocol.ts").WorkerResponse) => void} */ resolve,
      ) => {
        worker.once("message", (/** @type {import("node:child_process").Serializable} */ message) =>
          resolve(
            /** @type {import("../../src/sources/nvidia/protocol.ts").ResponseEnvelope} */ (message)
              .answer,
          ),
        );
        worker.send({ id: 1, request });
      },
    );
  await ask({ kind: "start", settings: { processes: true, slowEveryMs: 5_000 }, known: [] });
  await ask({ kind: "read", tier: "slow", knows: 0 });
  await ask({ kind: "bench", passes: 500 });
  const answer = await ask({ kind: "bench", passes: 4_000 });
  // What the slow calls cost as they come, seconds apart, is more than what they cost in a row.
  for (let turn = 0; turn < 12; turn++) {
    await sleep(1_000);
    await ask({ kind: "read", tier: "fast", knows: 0 });
  }
  const later = await ask({ kind: "bench", passes: 1 });
  await ask({ kind: "close" });
  if (answer.kind !== "bench" || later.kind !== "bench")
    throw new Error(`NVML cannot be read: ${JSON.stringify(answer)}`);
  return { ...answer.bench, tasks: later.bench.tasks };
}
