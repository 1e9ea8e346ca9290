/** Parses phases.json, the commanded load, and a trace of NVML readings. Pure: text in, rows out. */

export interface Phase {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  /** Steps that the program counted; only the program defines what a step is. */
  readonly work?: number | undefined;
  /** When kernels ran, in ascending milliseconds from the start; absent if the program did not record it. */
  readonly busyMs?: readonly (readonly [fromMs: number, toMs: number])[] | undefined;
}

export interface TraceRow {
  readonly timeMs: number;
  readonly utilization: number;
  readonly memoryUtilization: number;
  readonly memoryBytes: number;
  readonly celsius: number;
  /** If the trace has it. */
  readonly memoryCelsius?: number;
  /** The mean over the last second. */
  readonly watts: number;
  /** If the trace has it: the power of the last few tens of milliseconds. */
  readonly instantWatts?: number;
  /** If the trace has it: what the memory's own sensor shows, part of the board's power. */
  readonly memoryWatts?: number;
  readonly smHertz: number;
  readonly powerCapped: boolean;
}

const powerCapBit = 0x4;

export function parsePhases(text: string): Phase[] {
  const parsed: unknown = JSON.parse(text);
  if (!Array.isArray(parsed))
    throw new Error("phases.json must be a list of {phase, start_ms, end_ms}");
  return parsed.map((item: unknown, index) => {
    if (typeof item !== "object" || item === null)
      throw new Error(`phases.json entry ${index + 1} is not an object`);
    const { phase, start_ms, end_ms, work, busy_ms } = item as Record<string, unknown>;
    if (typeof phase !== "string" || typeof start_ms !== "number" || typeof end_ms !== "number") {
      throw new Error(`phases.json entry ${index + 1} needs phase, start_ms and end_ms`);
    }
    return {
      name: phase,
      startMs: start_ms,
      endMs: end_ms,
      work: typeof work === "number" && work > 0 ? work : undefined,
      busyMs: busy_ms === undefined ? undefined : parseBusy(busy_ms, index),
    };
  });
}

function parseBusy(given: unknown, index: number): [number, number][] {
  const wrong = `phases.json entry ${index + 1}: busy_ms must be a list of [from, to] that rise`;
  if (!Array.isArray(given)) throw new Error(wrong);
  let lastMs = Number.NEGATIVE_INFINITY;
  return given.map((span: unknown) => {
    const [fromMs, toMs, ...more] = Array.isArray(span) ? (span as unknown[]) : [];
    if (typeof fromMs !== "number" || typeof toMs !== "number" || more.length > 0)
      throw new Error(wrong);
    if (!(fromMs >= lastMs && toMs >= fromMs)) throw new Error(wrong);
    lastMs = toMs;
    return [fromMs, toMs];
  });
}

export function parseTrace(csv: string): TraceRow[] {
  const lines = csv.split(/\r?\n/).filter((line) => line !== "");
  const columns = (lines[0] ?? "").split(",");
  const column = (name: string): number => {
    const at = columns.indexOf(name);
    if (at === -1) throw new Error(`the trace has no column ${name}; it has ${columns.join(", ")}`);
    return at;
  };
  const at = {
    time: column("t_ms"),
    util: column("util"),
    memoryUtil: column("mem_util"),
    memory: column("mem_used"),
    temperature: column("temp"),
    power: column("power_mw"),
    clock: column("clk_sm"),
    reasons: column("reasons"),
  };
  const memoryTemperatureAt = columns.indexOf("mem_temp");
  const instantPowerAt = columns.indexOf("power_inst_mw");
  const memoryPowerAt = columns.indexOf("mem_power_mw");
  return lines.slice(1).map((line) => {
    const cells = line.split(",");
    const number = (index: number): number => Number(cells[index]);
    return {
      timeMs: number(at.time),
      utilization: number(at.util) / 100,
      memoryUtilization: number(at.memoryUtil) / 100,
      memoryBytes: number(at.memory),
      celsius: number(at.temperature),
      ...(memoryTemperatureAt === -1 ? {} : { memoryCelsius: number(memoryTemperatureAt) }),
      watts: number(at.power) / 1_000,
      ...(instantPowerAt === -1 ? {} : { instantWatts: number(instantPowerAt) / 1_000 }),
      ...(memoryPowerAt === -1 ? {} : { memoryWatts: number(memoryPowerAt) / 1_000 }),
      smHertz: number(at.clock) * 1e6,
      powerCapped: (number(at.reasons) & powerCapBit) !== 0,
    };
  });
}

/** The row that applies at an instant: the last one not after it, or the first. */
export function rowAt(rows: readonly TraceRow[], timeMs: number): TraceRow {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((rows[middle]?.timeMs ?? 0) <= timeMs) low = middle;
    else high = middle - 1;
  }
  const row = rows[low];
  if (row === undefined) throw new Error("the trace has no rows");
  return row;
}
