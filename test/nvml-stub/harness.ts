// A test harness for the NVIDIA source over the stand-in for NVML: opens it, reads it, waits for a value.

import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

import { waitUntil } from "../../engines/wait.ts";
import { silentLog } from "../../src/base/log.ts";
import type { Tier } from "../../src/model/catalogue/index.ts";
import type { Frame } from "../../src/model/frame.ts";
import { presenceNames } from "../../src/model/presence.ts";
import { createOwnerResolver } from "../../src/machine/owners/resolver.ts";
import { NvmlConnection } from "../../src/sources/nvidia/connection.ts";
import { NvidiaSource } from "../../src/sources/nvidia/source.ts";
import { buildStub, buildWorker, type Stub } from "./stub.ts";

export type Values = Map<string, number | string>;

export interface Harness {
  readonly stub: Stub;
  /** `sysfs` is needed only if a GPU may be asleep. */
  open(processes?: boolean, sysfs?: string, kubeletSocket?: string): NvidiaSource;
  /** Opens a separate connection; `libraries` replaces the stand-in. */
  connect(libraries?: readonly string[]): NvmlConnection;
}

/** Builds the stand-in before the tests of a file, and closes every source after each test. */
export function useStub(): Harness {
  let stub: Stub | undefined;
  let worker: { readonly file: string; remove(): void } | undefined;
  let sources: NvidiaSource[] = [];
  const built = (): Stub => {
    if (stub === undefined) throw new Error("BUG: the stand-in was not built");
    return stub;
  };
  const connect = (libraries = [built().library]): NvmlConnection =>
    new NvmlConnection(worker?.file ?? "", libraries);
  beforeAll(async () => {
    if (!("path" in findTool("gcc"))) return;
    stub = await buildStub();
    worker = await buildWorker();
  });
  beforeEach((context) => {
    toolOrSkip(context, "gcc");
    built().script();
  });
  afterEach(async () => {
    for (const source of sources) await source.close();
    sources = [];
  });
  afterAll(() => {
    stub?.remove();
    worker?.remove();
  });
  return {
    get stub() {
      return built();
    },
    connect,
    open: (processes = false, sysfs = "/nowhere", kubeletSocket) => {
      const source = new NvidiaSource({
        host: "h",
        settings: { processes, slowEveryMs: 1_000 },
        connect: () => new NvmlConnection(worker?.file ?? "", [built().library], sysfs),
        resolver: createOwnerResolver({
          procfs: "/proc",
          nowMs: () => Date.now(),
          log: silentLog,
          kubeletSocket,
        }),
        log: silentLog,
        explain: async ({ stage, detail }) => `${stage}: ${detail}`,
      });
      sources.push(source);
      return source;
    },
  };
}

/** Values by GPU, metric and own labels, such as `3 gpu_temperature_celsius{sensor=edge}`; an absent value is its reason. */
function valuesOf(frame: Frame): Values {
  return new Map(
    frame.layout.series.map(({ metric, labels }, slot) => {
      const own = labels.filter(([name]) => !["uuid", "gpu", "host"].includes(name));
      const uuid = labels.find(([name]) => name === "uuid")?.[1] ?? "";
      const gpu = uuid.startsWith("MIG-")
        ? `mig${Number(uuid.slice(-3))}`
        : Number(`0x${uuid.slice(4, 12)}`);
      const shown = own.map(([name, value]) => `${name}=${value}`).join(",");
      const state = presenceNames[frame.presence[slot] ?? 4] ?? "failed";
      const value = state === "present" ? (frame.values[slot] ?? Number.NaN) : state;
      return [`${gpu} ${metric.name}{${shown}}`, value];
    }),
  );
}

export async function read(source: NvidiaSource, tier: Tier): Promise<Values> {
  return valuesOf(await source.read(tier, 1_000));
}

/** Only the values of the given names, to compare with a table. */
export function pick(values: Values, names: Readonly<Record<string, unknown>>): unknown {
  return Object.fromEntries(Object.keys(names).map((name) => [name, values.get(name)]));
}

/** Reads until the value is as expected; a failure shows the last one. */
export async function eventually(
  source: NvidiaSource,
  tier: Tier,
  name: string,
  wanted: number | string,
): Promise<void> {
  await waitUntil({ what: `${name} to be ${wanted}`, timeoutMs: 9_000 }, async () => {
    const got = (await read(source, tier)).get(name);
    if (got === wanted) return true;
    throw new Error(`it is ${got}`);
  });
}
