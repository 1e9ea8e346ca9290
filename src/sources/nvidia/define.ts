/** `nvidia:`, every NVIDIA GPU of this machine, read through the driver's own library. */
import * as v from "valibot";
import { durationMs, flag, text } from "../../config/fields.ts";
import type { DoctorFinding, PolledSource, SourceContext } from "../source.ts";
import { defineSource } from "../source.ts";

const fallbackTakes = "auto or never";

const options = v.strictObject({
  library: v.optional(
    v.pipe(
      text("the path of the driver's library"),
      v.description("NVML's library; found by itself where not given."),
    ),
  ),
  fallback: v.optional(
    v.pipe(
      v.picklist(["auto", "never"], fallbackTakes),
      v.description("Whether to run nvidia-smi where the library cannot be loaded: auto or never."),
    ),
    "auto",
  ),
  processes: v.optional(
    v.pipe(
      flag(),
      v.description("Also series of the 20 largest processes of each GPU, with memory and share."),
    ),
    false,
  ),
  "slow-every": v.optional(
    v.pipe(
      durationMs(1_000, 3_600_000),
      v.description(
        "How often what costs milliseconds is read: energy, PCIe traffic, ECC, processes.",
      ),
    ),
    "5s",
  ),
  smi: v.optional(
    v.pipe(text("a command"), v.description("The nvidia-smi to run where it comes to that.")),
    "nvidia-smi",
  ),
});
type Options = v.InferOutput<typeof options>;

export const nvidia = defineSource({
  name: "nvidia",
  summary:
    "NVIDIA GPUs through NVML, in a thread of its own; through nvidia-smi where that cannot be.",
  options,
  examples: [
    { url: "nvidia:", says: "every NVIDIA GPU of this machine" },
    { url: "nvidia:?processes=true", says: "also who is on them, the 20 largest of each" },
    { url: "nvidia:?library=/opt/driver/libnvidia-ml.so.1", says: "with a library elsewhere" },
  ],
  auto: true,
  captureCommands: [
    ["nvidia-smi", "-q", "-x"],
    ["nvidia-smi", "topo", "-m"],
    ["nvidia-smi", "topo", "-p2p", "r"],
    ["nvidia-smi", "--help-query-gpu"],
  ],
  doctor: (given, context) => examineHere(given, context),
  create: (given, context) => open(given, context),
});

async function examineHere(given: Options, context: SourceContext): Promise<DoctorFinding> {
  const { lookAround } = await import("./surroundings.ts");
  const around = await lookAround(context.procfs);
  const { explain } = await import("./explain.ts");
  // Without a driver there is nothing to load, and most machines are without.
  if (
    given.library === undefined &&
    !around.module &&
    around.control === "missing" &&
    process.platform === "linux"
  )
    return explain({ stage: "library", detail: "" }, around);
  const { connection } = await reach(given, context);
  if (connection === undefined) return unbuilt;
  const { examine } = await import("./doctor.ts");
  const finding = await examine(connection(), around);
  if (finding.state === "found" || given.fallback === "never") return finding;
  const devices = await devicesBySmi(given, context);
  if (devices.length === 0) return finding;
  return {
    state: "found",
    says: `${devices.length} through nvidia-smi. ${finding.says}`,
    devices,
    ...(finding.fix === undefined ? {} : { fix: finding.fix }),
  };
}

const unbuilt: DoctorFinding = {
  state: "failed",
  says: "The part of gpulse that talks to NVML (nvidia-worker.js) is not where it should be.",
  fix: "Run npm run build, or install gpulse again.",
};

async function reach({ library }: Options, { sysfs }: SourceContext) {
  const { connect, findWorkerFile } = await import("./connection.ts");
  const { usualPaths } = await import("./nvml/paths.ts");
  const libraries = library === undefined ? usualPaths : [library];
  const file = findWorkerFile();
  return { connection: file === undefined ? undefined : () => connect(libraries, file, sysfs) };
}

async function open(given: Options, context: SourceContext): Promise<PolledSource> {
  const [
    { NvidiaSource },
    { createOwnerResolver },
    { lookAround },
    { explain },
    { openDeadlineMs, within },
  ] = await Promise.all([
    import("./source.ts"),
    import("../../owners/resolver.ts"),
    import("./surroundings.ts"),
    import("./explain.ts"),
    import("./doctor.ts"),
  ]);
  const { procfs, nowMs, log, host } = context;
  const resolver = createOwnerResolver({ procfs, nowMs, log });
  const { connection } = await reach(given, context);
  if (connection === undefined) {
    if (given.fallback === "never") throw new Error(unbuilt.says);
    return openSmi(given, context);
  }
  const source = new NvidiaSource({
    host,
    resolver,
    settings: { processes: given.processes, slowEveryMs: given["slow-every"] },
    connect: connection,
    explain: async (trouble) => {
      const { says, fix } = explain(trouble, await lookAround(procfs));
      return fix === undefined ? says : `${says} ${fix}`;
    },
  });
  const trouble = await within(source.start(), openDeadlineMs);
  const cannotLoad =
    trouble !== undefined && trouble !== "later" && !["init", "asleep"].includes(trouble.stage);
  if (!cannotLoad || given.fallback === "never") return source;
  if ((await devicesBySmi(given, context)).length === 0) return source;
  log.warn("NVML cannot be loaded: running nvidia-smi instead, every few seconds", {
    trouble: trouble.detail,
  });
  await source.close();
  return openSmi(given, context);
}

/** A run of nvidia-smi may take seconds where the driver is not kept loaded. */
const smiDeadlineMs = 10_000;

async function openSmi(given: Options, { procfs, nowMs, log, host }: SourceContext) {
  const [{ SmiSource }, { SmiRunner }, { createOwnerResolver }] = await Promise.all([
    import("./smi/source.ts"),
    import("./smi/run.ts"),
    import("../../owners/resolver.ts"),
  ]);
  return new SmiSource({
    host,
    processes: given.processes,
    runner: new SmiRunner({ command: given.smi, deadlineMs: smiDeadlineMs, nowMs }),
    resolver: createOwnerResolver({ procfs, nowMs, log }),
  });
}

async function devicesBySmi(given: Options, context: SourceContext) {
  const source = await openSmi(given, context);
  try {
    return (await source.look()).map(({ device }) => device);
  } catch {
    return [];
  } finally {
    source.close();
  }
}
