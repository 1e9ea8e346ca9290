/** The source `nvidia:`: every NVIDIA GPU of this machine, read through the driver's own library. */
import { existsSync } from "node:fs";
import * as v from "valibot";
import { durationMs, flag, text } from "../../config/fields.ts";
import type { Device } from "../../model/device.ts";
import {
  defineSource,
  type DoctorFinding,
  type PolledSource,
  type SourceContext,
} from "../source.ts";
import type { DriverEnvironment } from "./explain.ts";
import type { NvmlFailure } from "./protocol.ts";
import type { SmiSource } from "./smi/source.ts";

const fallbackTakes = "auto or never";

const options = v.strictObject({
  library: v.optional(
    v.pipe(
      text("the path of the driver's library"),
      v.description("Path of the NVML library. Default: found automatically."),
    ),
  ),
  fallback: v.optional(
    v.pipe(
      v.picklist(["auto", "never"], fallbackTakes),
      v.description("Whether to run nvidia-smi if the library cannot be loaded: auto or never."),
    ),
    "auto",
  ),
  processes: v.optional(
    v.pipe(
      flag(),
      v.description("Also report memory and utilization of each GPU's 20 largest processes."),
    ),
    false,
  ),
  "slow-every": v.optional(
    v.pipe(
      durationMs(1_000, 3_600_000),
      v.description(
        "Interval of readings that take milliseconds: energy, PCIe traffic, ECC, processes.",
      ),
    ),
    "5s",
  ),
  smi: v.optional(
    v.pipe(text("a command"), v.description("Path of the fallback nvidia-smi.")),
    "nvidia-smi",
  ),
});
type Options = v.InferOutput<typeof options>;

export const nvidia = defineSource({
  name: "nvidia",
  summary:
    "NVIDIA GPUs through NVML, in a separate process; through nvidia-smi if NVML cannot be used.",
  options,
  examples: [
    { url: "nvidia:", description: "every NVIDIA GPU of this machine" },
    { url: "nvidia:?processes=true", description: "with the 20 largest processes of each GPU" },
    {
      url: "nvidia:?library=/opt/driver/libnvidia-ml.so.1",
      description: "with a library in another folder",
    },
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
  const { probeDriverEnvironment } = await import("./doctor.ts");
  const around = await probeDriverEnvironment(context.procfs);
  const finding = await examineNvml(given, context, around);
  if (finding.state === "found" || given.fallback === "never") return finding;
  const { devices, error } = await devicesBySmi(given, context);
  const { withSmi } = await import("./explain.ts");
  return withSmi(finding, devices, error);
}

async function examineNvml(
  given: Options,
  context: SourceContext,
  around: DriverEnvironment,
): Promise<DoctorFinding> {
  const { explain } = await import("./explain.ts");
  const { usualPaths } = await import("./connection.ts");
  // Most machines have no driver, so do not start a process for them.
  if (
    given.library === undefined &&
    !around.module &&
    around.control === "missing" &&
    process.platform === "linux" &&
    !usualPaths.some((path) => existsSync(path))
  )
    return explain({ stage: "library", detail: "" }, around);
  const { connection } = await reach(given, context);
  if (connection === undefined) return unbuilt;
  const { examine } = await import("./doctor.ts");
  return examine(connection(), around);
}

const unbuilt: DoctorFinding = {
  state: "failed",
  says: "The NVML worker of gpulse (nvidia-worker.js) is missing.",
  fix: "Run npm run build, or install gpulse again.",
};

async function reach({ library }: Options, { sysfs }: SourceContext) {
  const { connect, findWorkerFile, usualPaths } = await import("./connection.ts");
  const libraries = library === undefined ? usualPaths : [library];
  const file = findWorkerFile();
  return { connection: file === undefined ? undefined : () => connect(libraries, file, sysfs) };
}

async function open(given: Options, context: SourceContext): Promise<PolledSource> {
  const [
    { NvidiaSource },
    { createOwnerResolver },
    { explain },
    { openDeadlineMs, probeDriverEnvironment, within },
    { FallbackSource, cannotLoad },
  ] = await Promise.all([
    import("./source.ts"),
    import("../../machine/owners/resolver.ts"),
    import("./explain.ts"),
    import("./doctor.ts"),
    import("./fallback.ts"),
  ]);
  const { procfs, nowMs, log, host, kubeletSocket } = context;
  const resolver = createOwnerResolver({ procfs, nowMs, log, kubeletSocket });
  const { connection } = await reach(given, context);
  if (connection === undefined) {
    if (given.fallback === "never") throw new Error(unbuilt.says);
    return openSmi(given, context);
  }
  const explainHere = async (problem: NvmlFailure): Promise<string> => {
    const { says, fix } = explain(problem, await probeDriverEnvironment(procfs));
    return fix === undefined ? says : `${says} ${fix}`;
  };
  const nvml = new NvidiaSource({
    host,
    resolver,
    settings: { processes: given.processes, slowEveryMs: given["slow-every"] },
    connect: connection,
    explain: explainHere,
    log,
  });
  const problem = await within(nvml.start(), openDeadlineMs);
  if (problem === "later" || !cannotLoad(problem) || given.fallback === "never") return nvml;
  const smi = await openSmi(given, context);
  return new FallbackSource({ nvml, smi, explain: explainHere, log });
}

async function openSmi(
  given: Options,
  { procfs, nowMs, log, host, kubeletSocket }: SourceContext,
): Promise<SmiSource> {
  const [{ SmiSource, smiRunDeadlineMs }, { SmiRunner }, { createOwnerResolver }] =
    await Promise.all([
      import("./smi/source.ts"),
      import("./smi/run.ts"),
      import("../../machine/owners/resolver.ts"),
    ]);
  return new SmiSource({
    host,
    processes: given.processes,
    runner: new SmiRunner({ command: given.smi, deadlineMs: smiRunDeadlineMs, nowMs }),
    resolver: createOwnerResolver({ procfs, nowMs, log, kubeletSocket }),
  });
}

/** Returns the GPUs nvidia-smi lists, or the error why it lists none. */
async function devicesBySmi(
  given: Options,
  context: SourceContext,
): Promise<{ readonly devices: readonly Device[]; readonly error?: unknown }> {
  const source = await openSmi(given, context);
  try {
    return { devices: (await source.look()).map(({ device }) => device) };
  } catch (error) {
    return { devices: [], error };
  } finally {
    source.close();
  }
}
