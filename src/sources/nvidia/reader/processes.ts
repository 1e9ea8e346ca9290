/** Lists the processes on a GPU: the compute and graphics lists merged, and each process's share of time if configured. */
import { code, isUnsupported } from "../nvml/codes.ts";
import type { Nvml, NvmlFunction } from "../nvml/library.ts";
import {
  processSampleBytes,
  readProcesses,
  readProcessSamples,
  type RunningProcess,
} from "../nvml/structs.ts";
import type { ProcessReading } from "../protocol.ts";
import type { CardBuilder, NvmlCard } from "./card.ts";
import type { Task } from "./task.ts";

const roomAtFirst = 64;
/** A longer list is treated as an error of the driver. */
const mostProcesses = 16_384;

export function processTasks(bench: CardBuilder): Task[] {
  const shares: Shares = { byPid: undefined };
  const tasks = [listTask(bench, shares)];
  if (bench.settings.processes) tasks.unshift(shareTask(bench, shares));
  return tasks;
}

/** Undefined while the driver does not report shares. */
interface Shares {
  byPid: ReadonlyMap<number, number> | undefined;
}

/** Lists the programs that compute on a GPU, not those of a desktop. */
export const computeLister = (nvml: Nvml): ((handle: number) => ProcessListResult) =>
  lister([
    [nvml.nvmlDeviceGetComputeRunningProcesses_v3, 24],
    [nvml.nvmlDeviceGetComputeRunningProcesses_v2, 24],
    [nvml.nvmlDeviceGetComputeRunningProcesses, 16],
  ]);

function listTask({ nvml, card, reading }: CardBuilder, shares: Shares): Task {
  const compute = computeLister(nvml);
  const graphics = lister([
    [nvml.nvmlDeviceGetGraphicsRunningProcesses_v3, 24],
    [nvml.nvmlDeviceGetGraphicsRunningProcesses_v2, 24],
    [nvml.nvmlDeviceGetGraphicsRunningProcesses, 16],
  ]);
  return reading("slow", "processes", [["processes"]], (out) => {
    const { instance } = card;
    const here = (list: readonly RunningProcess[]): RunningProcess[] =>
      list.filter(
        ({ gpuInstance, computeInstance }) =>
          instance === undefined ||
          (gpuInstance === instance.gpuInstance &&
            (instance.computeInstance === undefined ||
              computeInstance === undefined ||
              computeInstance === instance.computeInstance)),
      );
    const handle = (card.instance?.parent ?? card).handle;
    const computing = compute(handle);
    const drawing = graphics(handle);
    card.processes = [];
    // A card may support only the compute list; the reading fails only if both lists fail.
    if (computing.got !== code.success && drawing.got !== code.success) return computing.got;
    card.processes = merge(card, here(computing.list), here(drawing.list), shares.byPid);
    out[0] = card.processes.length;
    return code.success;
  });
}

export interface ProcessListResult {
  readonly got: number;
  readonly list: readonly RunningProcess[];
}

/** Uses the newest version of the list function that this driver has; the structure grew with version 2. */
function lister(
  forms: readonly (readonly [NvmlFunction, 16 | 24])[],
): (handle: number) => ProcessListResult {
  let buffer = Buffer.alloc(roomAtFirst * 24);
  const count = Buffer.alloc(4);
  return (handle) => {
    let got: number = code.functionNotFound;
    for (const [call, bytes] of forms) {
      for (let tries = 0; tries < 3; tries++) {
        count.writeUInt32LE(Math.floor(buffer.length / bytes), 0);
        got = call(handle, count, buffer);
        if (got !== code.insufficientSize) break;
        const wanted = Math.min(mostProcesses, count.readUInt32LE(0) * 2 + 8);
        if (wanted * bytes > buffer.length) buffer = Buffer.alloc(wanted * bytes);
      }
      if (got === code.success)
        return { got, list: readProcesses(buffer, count.readUInt32LE(0), bytes) };
      if (got !== code.functionNotFound) break;
    }
    return { got, list: [] };
  };
}

function merge(
  card: NvmlCard,
  computing: readonly RunningProcess[],
  drawing: readonly RunningProcess[],
  shares: ReadonlyMap<number, number> | undefined,
): ProcessReading[] {
  const byPid = new Map<number, ProcessReading>();
  const add = (list: readonly RunningProcess[], kind: "compute" | "graphics"): void => {
    for (const { pid, memoryBytes } of list) {
      const known = byPid.get(pid);
      byPid.set(pid, {
        device: card.at,
        pid,
        kind: known === undefined || known.kind === kind ? kind : "both",
        // A process in both lists reports the same memory in each.
        memoryBytes: Number.isNaN(memoryBytes) ? (known?.memoryBytes ?? Number.NaN) : memoryBytes,
        // The driver reports shares but none for this process: it was not on the GPU.
        ...(shares === undefined ? {} : { utilizationRatio: shares.get(pid) ?? 0 }),
      });
    }
  };
  add(computing, "compute");
  add(drawing, "graphics");
  return [...byPid.values()];
}

/** Each process's newest sample since the last read; a process without a sample was not on the GPU in between. 2 ms a call. */
function shareTask({ nvml, card, settings }: CardBuilder, shares: Shares): Task {
  let buffer = Buffer.alloc(128 * processSampleBytes);
  const count = Buffer.alloc(4);
  let seenMicros = 0;
  return {
    name: "process shares",
    everyMs: settings.slowEveryMs,
    dueMs: 0,
    costMs: 0,
    run: () => {
      const { handle } = card.instance?.parent ?? card;
      let got: number = code.insufficientSize;
      for (let tries = 0; tries < 3 && got === code.insufficientSize; tries++) {
        count.writeUInt32LE(buffer.length / processSampleBytes, 0);
        got = nvml.nvmlDeviceGetProcessUtilization(handle, buffer, count, seenMicros);
        const wanted = Math.min(mostProcesses, count.readUInt32LE(0));
        if (got === code.insufficientSize) buffer = Buffer.alloc((wanted + 8) * processSampleBytes);
      }
      shares.byPid = undefined;
      if (isUnsupported(got)) return code.success;
      if (got !== code.success && got !== code.notFound) return got;
      const samples =
        got === code.notFound ? [] : readProcessSamples(buffer, count.readUInt32LE(0));
      const byPid = new Map<number, number>();
      for (const { pid, smRatio } of samples.toSorted((a, b) => a.timeMicros - b.timeMicros))
        byPid.set(pid, smRatio);
      seenMicros = samples.reduce(
        (latest, { timeMicros }) => Math.max(latest, timeMicros),
        seenMicros,
      );
      shares.byPid = byPid;
      return code.success;
    },
  };
}
