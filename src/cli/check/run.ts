/** Runs `gpulse check`: one GPU after another, prints a table or JSON, sends results to sinks, and exits with the worst result's code. */
import { sourceContext } from "../../agent/run.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { Device } from "../../model/device.ts";
import { ratesOf } from "../../model/gpu-rates.ts";
import { vendorTitle } from "../../model/vendor.ts";
import {
  type CheckSettings,
  type CheckTest,
  checkTests,
  type CheckEvent,
} from "../../sources/nvidia/check/protocol.ts";
import { usualCudaPaths } from "../../sources/nvidia/check/cuda.ts";
import { runCheckProcess } from "../../sources/nvidia/check/process.ts";
import { type CheckOutcome, type GpuCheck, judge } from "../../sources/nvidia/check/verdict.ts";
import { findWorkerFile, usualPaths } from "../../sources/nvidia/connection.ts";
import { openSources, parseSource } from "../../sources/open.ts";
import type { DoctorFinding, SourceContext } from "../../sources/source.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { parseDurationFlag } from "../run/options.ts";
import { checkJson, formatCheck } from "./report.ts";
import { sendResults } from "./send.ts";

export interface CheckFlags extends Omit<FlagValues, "to"> {
  readonly gpu?: string;
  readonly seconds?: string;
  readonly only?: string;
  readonly selfTest?: string;
  readonly deadline?: string;
  readonly cudaLibrary?: string;
  readonly nvmlLibrary?: string;
  readonly to?: readonly string[];
  readonly json?: boolean;
}

const exitCodes = { fail: 1, slow: 3, notMeasured: 4 } as const;

export async function runCheck(flags: CheckFlags, io: CommandIo): Promise<number> {
  const plan = parseCheckOptions(flags);
  const { to = [], ...rest } = flags;
  const settings = await resolveSettings("agent", { ...rest, logLevel: "error" }, io.env);
  const log = commandLog(io, settings.logLevel, false);
  const { gpus, problem } = await findGpus(flags, sourceContext(settings, log));
  const chosen = gpus.filter((gpu) => flags.gpu === undefined || isChosen(gpu, flags.gpu));
  if (chosen.length === 0) {
    const why = problem ?? "No NVIDIA GPU found. Run gpulse doctor to see why.";
    const among = gpus.map(({ index, uuid }) => `${index} (${uuid})`).join(", ");
    io.stderr.write(
      `gpulse: ${gpus.length === 0 ? why : `there is no GPU ${flags.gpu} here. There are ${among}.`}\n`,
    );
    if (flags.json === true) io.stdout.write(`${checkJson([])}\n`);
    return gpus.length === 0 ? exitCodes.notMeasured : 2;
  }
  const abort = new AbortController();
  void io.stopped().then(() => abort.abort());
  const progress = new Progress(io.stderr, Date.now, flags.json === true);
  const checks: GpuCheck[] = [];
  for (const gpu of chosen) {
    const outcome = await checkOne(gpu, plan, progress, abort.signal);
    progress.clear();
    checks.push(judge(outcome, ratesOf(gpu.model)?.architecture.flopPerCycle ?? {}));
  }
  const failures = await sendResults(checks, to, settings, io, log);
  const table = to.some((url) => url.startsWith("stdout:")) ? io.stderr : io.stdout;
  if (flags.json === true) io.stdout.write(`${checkJson(checks)}\n`);
  else table.write(formatCheck(checks));
  for (const failure of failures) io.stderr.write(`gpulse: ${failure}\n`);
  return exitCodeOf(checks);
}

export function exitCodeOf(checks: readonly GpuCheck[]): number {
  const verdicts = new Set(checks.map(({ verdict }) => verdict));
  if (verdicts.has("fail")) return exitCodes.fail;
  if (verdicts.has("slow")) return exitCodes.slow;
  return [...verdicts].every((verdict) => verdict === "pass") ? 0 : exitCodes.notMeasured;
}

type CheckPlan = Omit<CheckSettings, "uuid">;

export function parseCheckOptions(flags: CheckFlags): CheckPlan {
  const number = (flag: string, text: string, min: number, max: number): number => {
    const value = Number(text);
    if (text.trim() !== "" && value >= min && value <= max) return value;
    throw new GpulseError(
      "USAGE",
      `${flag} must be a number from ${min} to ${max}, not "${text}".`,
    );
  };
  const known = (name: string): name is CheckTest =>
    (checkTests as readonly string[]).includes(name);
  const asked = flags.only?.split(",").map((name) => name.trim());
  const unknown = asked?.find((name) => !known(name));
  if (unknown !== undefined)
    throw new GpulseError(
      "USAGE",
      `--only has no test "${unknown}". Tests: ${checkTests.join(", ")}.`,
    );
  return {
    cudaLibraries: flags.cudaLibrary === undefined ? usualCudaPaths : [flags.cudaLibrary],
    nvmlLibraries: flags.nvmlLibrary === undefined ? usualPaths : [flags.nvmlLibrary],
    seconds: number("--seconds", flags.seconds ?? "20", 1, 3_600),
    tests: asked === undefined ? checkTests : checkTests.filter((test) => asked.includes(test)),
    deadlineMs: parseDurationFlag("--deadline", flags.deadline ?? "10s", 100),
    ...(flags.selfTest === undefined
      ? {}
      : { selfTest: Math.round(number("--self-test", flags.selfTest, 1, 100_000)) }),
  };
}

/** Returns NVIDIA GPUs, those of other vendors, and why there are none of NVIDIA. */
async function findGpus(
  { nvmlLibrary }: CheckFlags,
  context: SourceContext,
): Promise<{ readonly gpus: readonly Device[]; readonly problem?: string }> {
  const examine = async (spec: string): Promise<DoctorFinding> => {
    const { definition, options } = parseSource(spec);
    return definition
      .doctor(options, context)
      .catch((thrown: unknown): DoctorFinding => ({ state: "failed", says: formatError(thrown) }));
  };
  const library = nvmlLibrary === undefined ? "" : `?library=${encodeURIComponent(nvmlLibrary)}`;
  const nvidia = await examine(`nvidia:${library}`);
  const others: Device[] = [];
  for (const spec of ["amd:", "intel:"])
    if ((await examine(spec)).state === "found") others.push(...(await listDevices(spec, context)));
  const whole = [...(nvidia.devices ?? []), ...others].filter(({ parent }) => parent === undefined);
  const isThere = whole.some(({ vendor }) => vendor === "nvidia");
  const says = [nvidia.says, nvidia.fix].filter((text) => text !== undefined).join(" ");
  return { gpus: whole, ...(isThere || says === "" ? {} : { problem: says }) };
}

async function listDevices(spec: string, context: SourceContext): Promise<readonly Device[]> {
  const opened = await openSources([spec], context);
  const devices = opened.flatMap(({ source }) => source.devices());
  for (const { source } of opened) await source.close?.();
  return devices;
}

const isChosen = ({ index, uuid }: Device, wanted: string): boolean =>
  String(index) === wanted || uuid.toLowerCase() === wanted.toLowerCase();

async function checkOne(
  gpu: Device,
  plan: CheckPlan,
  progress: Progress,
  signal: AbortSignal,
): Promise<CheckOutcome> {
  const nothing = { gpu, measurements: [], skipped: [] };
  if (gpu.vendor !== "nvidia")
    return {
      ...nothing,
      end: {
        state: "unsupported",
        says: `gpulse check has no load for ${vendorTitle(gpu.vendor)} GPUs: it is compiled by NVIDIA's driver. Nothing was measured.`,
        fix: "Wrap a load of your own with gpulse run, which records every vendor's GPUs.",
      },
    };
  const workerFile = findWorkerFile("check-worker");
  if (workerFile === undefined)
    return {
      ...nothing,
      end: {
        state: "unavailable",
        says: "The check worker of gpulse (check-worker.js) is missing.",
        fix: "Run npm run build, or install gpulse again.",
      },
    };
  const events: CheckEvent[] = [];
  const name = `GPU ${gpu.index} ${gpu.model}`;
  const onEvent = (event: CheckEvent): void => {
    if (event.kind === "progress")
      progress.show({ name: `${name}: ${event.test}`, fraction: event.fraction });
    else if (event.kind !== "call") events.push(event);
  };
  const end = await runCheckProcess({
    workerFile,
    settings: { ...plan, uuid: gpu.uuid },
    onEvent,
    signal,
  });
  return {
    gpu,
    end,
    measurements: events.flatMap((event) =>
      event.kind === "measurement" ? [event.measurement] : [],
    ),
    skipped: events.flatMap((event) => (event.kind === "skipped" ? [event] : [])),
    device: events.findLast((event) => event.kind === "device")?.device,
    conditions: events.findLast((event) => event.kind === "conditions")?.conditions,
    selfTest: events.findLast((event) => event.kind === "self-test")?.result,
  };
}
