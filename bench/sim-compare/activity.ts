/**
 * Infers when a recorded card was busy, from registers that each show a part of it. NVML refreshes the utilisation every 200 ms
 * with the mean over 125 ms, so three eighths of the time are never visible; the SM clock is refreshed every 100 ms and falls
 * within one refresh when a heavy load starts. If the work starts and stops between two utilisation readings, the power of each
 * 100 ms and, where recorded, of an instant shows which tenths of a second were busy. A hidden on/off Markov chain explains all
 * of them (forward-backward, 25 ms bins). Utilisation and clock are refreshed with an offset that is not recorded: every possible
 * offset is weighted by how well the chain then explains the registers. Only the course of the power within the phase matters,
 * relative to the phase's own full load: the same course at other watts gives the same activity. Uses only the recording, never
 * the simulator or a temperature.
 */
import type { PowerSlot } from "./power-slots.ts";
import type { Phase, TraceRow } from "./trace.ts";

const binMs = 25;
const refreshMs = 200;
/** From the middle of the utilisation window to its refresh. */
const readingDelayMs = 90;
const clockRefreshMs = 100;
/** The utilisation window in bins, the newest of which ended up to `mostDelayBins` before the refresh. */
const windowBins = 5;
const mostDelayBins = 4;
const historyBins = windowBins + mostDelayBins;
const states = 1 << historyBins;
/** The delay in bins until the SM clock shows a load. */
const clockDelayBins = 2;
const utilizationSigma = 0.1;
const clockSigma = 0.35;
const slotSigma = 0.2;
const instantSigma = 0.3;
/** The length of a power slot in bins. */
const slotBins = 4;
/** The instantaneous power is that of the bin before the newest. */
const instantDelayBins = 1;
/**
 * Until the governor has lowered the clock, 75 ms after a pause, a heavy load draws this multiple of its later power over rest.
 */
const startLevel = 1.25;
const startBins = 3;
/** Probability that the work starts or stops within a bin: bursts of 100 ms to 1 s. */
const edgeProbability = 0.1;
/** Below this, a reading shows too little of the work's use of the memory. */
const leastWork = 0.3;
/** A bin with a lower probability of being busy counts as idle. */
const leastShare = 0.03;
/** A load that lowers the clock by less is not visible in it. */
const leastClockDrop = 0.05;
/** Readings between these are work that is neither on nor off for a whole window. */
const [mostlyOff, mostlyOn] = [0.15, 0.85];
const mostBetween = 0.5;
/** For work that switches less often, the utilisation readings alone are precise enough. */
const leastSwitchesPerSecond = 0.8;
/** In a second with more switches than this, a period of two refreshes, the utilisation does not show when the card was busy. */
const mostSwitchesPerSecond = 1_000 / refreshMs;
const mostSecondsBeyond = 0.2;
/** Busy time without memory activity does not show how hard the compute units worked. */
const mostWithoutMemory = 0.1;

/** How busy a card was over time. */
export class PhaseActivity {
  readonly #startMs: number;
  readonly #busy: readonly number[];
  readonly #readings: readonly TraceRow[];

  constructor(startMs: number, busy: readonly number[], readings: readonly TraceRow[]) {
    this.#startMs = startMs;
    this.#busy = busy;
    this.#readings = readings;
  }

  /** The uncertainty of the busy times: 0 is none, 1 is complete. */
  get uncertainty(): number {
    const spread = this.#busy.reduce((sum, busy) => sum + 4 * busy * (1 - Math.min(1, busy)), 0);
    return spread / Math.max(1, this.#busy.length);
  }

  at(timeMs: number): { readonly busy: number; readonly memoryBusy: number } {
    const bin = Math.floor((timeMs - this.#startMs) / binMs);
    const busy = this.#busy[Math.min(this.#busy.length - 1, Math.max(0, bin))] ?? 0;
    return { busy, memoryBusy: memoryBusyAt(this.#readings, timeMs) ?? 0 };
  }
}

/** Readings with enough work to show its kind. */
export const workReadings = (rows: readonly TraceRow[]): TraceRow[] =>
  utilizationRefreshes(rows).filter(({ utilization }) => utilization > leastWork);

/** The memory controller's share of the busy time, in the reading nearest to an instant; undefined if no reading saw work. */
export function memoryBusyAt(readings: readonly TraceRow[], timeMs: number): number | undefined {
  let nearest: TraceRow | undefined;
  for (const row of readings)
    if (
      nearest === undefined ||
      Math.abs(row.timeMs - readingDelayMs - timeMs) <
        Math.abs(nearest.timeMs - readingDelayMs - timeMs)
    )
      nearest = row;
  return nearest === undefined
    ? undefined
    : Math.min(1, nearest.memoryUtilization / nearest.utilization);
}

/** The activity of a phase; undefined if the registers do not show work that starts and stops. */
export function inferActivity(
  phase: Phase,
  rows: readonly TraceRow[],
  boostHertz: number,
  slots: readonly PowerSlot[],
): PhaseActivity | undefined {
  const within = rows.filter(
    ({ timeMs }) => timeMs >= phase.startMs && timeMs < phase.endMs + refreshMs,
  );
  const utilizations = within.map(({ utilization }) => utilization).sort((a, b) => a - b);
  const onLevel = utilizations[Math.floor(utilizations.length * 0.9)] ?? 0;
  if (onLevel < mostlyOn) return undefined;
  const busyHertz = busyClock(within);
  const clockDrop = 1 - busyHertz / boostHertz;
  const between = utilizations.filter((value) => value > mostlyOff && value < mostlyOn).length;
  if (clockDrop < leastClockDrop && between > mostBetween * within.length) return undefined;
  const clockShows = clockDrop >= leastClockDrop;
  const middleHertz = (busyHertz + boostHertz) / 2;
  const switches = Math.max(
    switchTimes(within, ({ utilization }) => utilization < onLevel / 2).length,
    clockShows ? switchTimes(within, ({ smHertz }) => smHertz < middleHertz).length : 0,
  );
  if (switches < (leastSwitchesPerSecond * (phase.endMs - phase.startMs)) / 1_000) return undefined;
  const bins = Math.ceil((phase.endMs + refreshMs - phase.startMs) / binMs);
  const binOf = (timeMs: number): number => Math.floor((timeMs - phase.startMs) / binMs);
  const readings = utilizationRefreshes(within);
  const clocks = clockShows ? clockRefreshes(within) : [];
  const powerShares = switchesWithinRefresh(phase, rows, boostHertz)
    ? slotShares(phase, rows, boostHertz, slots)
    : [];
  const explanations: SmoothedExplanation[] = [];
  for (let delayBins = 0; delayBins <= mostDelayBins; delayBins++) {
    const evidence = new Evidence(bins);
    for (const { timeMs, utilization } of readings)
      evidence.utilization(binOf(timeMs), utilization / onLevel, delayBins);
    for (const { timeMs, smHertz } of clocks)
      evidence.clock(
        binOf(timeMs),
        Math.min(1, Math.max(0, (1 - smHertz / boostHertz) / clockDrop)),
      );
    for (const { timeMs, share, instantShare } of powerShares) {
      evidence.slot(binOf(timeMs), share);
      if (instantShare !== undefined) evidence.instant(binOf(timeMs), instantShare);
    }
    explanations.push(evidence.smooth());
  }
  return new PhaseActivity(
    phase.startMs,
    average(explanations).map((share) => (share < leastShare ? 0 : share * onLevel)),
    workReadings(within),
  );
}

/** True if the SM clock shows that the work starts and stops between two utilisation readings. */
function switchesWithinRefresh(
  phase: Phase,
  rows: readonly TraceRow[],
  boostHertz: number,
): boolean {
  const within = rows.filter(({ timeMs }) => timeMs >= phase.startMs && timeMs < phase.endMs);
  const clocks = within.map(({ smHertz }) => smHertz).sort((a, b) => a - b);
  const lowHertz = clocks[Math.floor(clocks.length / 10)] ?? boostHertz;
  if (1 - lowHertz / boostHertz < leastClockDrop) return false;
  const middleHertz = (lowHertz + boostHertz) / 2;
  const seconds = Math.ceil((phase.endMs - phase.startMs) / 1_000);
  const switches = Array.from({ length: seconds }, () => 0);
  for (const timeMs of switchTimes(within, ({ smHertz }) => smHertz < middleHertz)) {
    const second = Math.floor((timeMs - phase.startMs) / 1_000);
    switches[second] = (switches[second] ?? 0) + 1;
  }
  const beyond = switches.filter((count) => count > mostSwitchesPerSecond).length;
  return beyond > mostSecondsBeyond * seconds;
}

interface SlotShare {
  readonly timeMs: number;
  /** Power over rest, relative to the phase's own at full load. */
  readonly share: number;
  readonly instantShare: number | undefined;
}

function slotShares(
  phase: Phase,
  rows: readonly TraceRow[],
  boostHertz: number,
  slots: readonly PowerSlot[],
): SlotShare[] {
  const own = slots.filter(({ endMs }) => endMs > phase.startMs && endMs <= phase.endMs);
  const sorted = own.map(({ watts }) => watts).sort((a, b) => a - b);
  const rest = restWatts(rows, boostHertz);
  const full = (sorted[Math.floor(sorted.length * 0.9)] ?? 0) - rest;
  if (full <= 0) return [];
  return own.map(({ endMs, watts, instantWatts }) => ({
    timeMs: endMs,
    share: Math.min(startLevel, (watts - rest) / full),
    instantShare:
      instantWatts === undefined
        ? undefined
        : Math.min(1, Math.max(0, (instantWatts - rest) / full)),
  }));
}

/** The idle power of the card at boost clock. */
function restWatts(rows: readonly TraceRow[], boostHertz: number): number {
  const watts = rows
    .filter(({ utilization, smHertz }) => utilization === 0 && smHertz > 0.95 * boostHertz)
    .map((row) => row.watts)
    .sort((a, b) => a - b);
  return watts[Math.floor(watts.length / 5)] ?? 0;
}

/** Why the registers of a phase do not determine its load; undefined if they do. Unnamed work must show its use of the memory. */
export function undetermined(phase: Phase, rows: readonly TraceRow[]): string | undefined {
  let all = 0;
  let withoutMemory = 0;
  for (const { timeMs, utilization, memoryUtilization } of rows) {
    if (timeMs < phase.startMs || timeMs >= phase.endMs) continue;
    all += utilization;
    if (memoryUtilization === 0) withoutMemory += utilization;
  }
  return withoutMemory > mostWithoutMemory * all
    ? "it shows no memory activity, so no recorded column but the power itself says how hard the compute units worked"
    : undefined;
}

function switchTimes(rows: readonly TraceRow[], below: (row: TraceRow) => boolean): number[] {
  return rows.flatMap((row, index) => {
    const before = rows[index - 1];
    return before !== undefined && below(before) !== below(row) ? [row.timeMs] : [];
  });
}

/** The median clock of rows with full utilisation. */
function busyClock(rows: readonly TraceRow[]): number {
  const clocks = rows
    .filter(({ utilization }) => utilization > 0.9)
    .map(({ smHertz }) => smHertz)
    .sort((a, b) => a - b);
  return clocks[Math.floor(clocks.length / 2)] ?? Number.POSITIVE_INFINITY;
}

export const utilizationRefreshes = (rows: readonly TraceRow[]): TraceRow[] =>
  refreshes(
    rows,
    ({ utilization, memoryUtilization }) => utilization * 1_000 + memoryUtilization,
    refreshMs,
  );

export const clockRefreshes = (rows: readonly TraceRow[]): TraceRow[] =>
  refreshes(rows, ({ smHertz }) => smHertz, clockRefreshMs);

/**
 * The rows in which a register was refreshed: those where its value changed, and otherwise one interval after the last refresh.
 */
function refreshes(
  rows: readonly TraceRow[],
  value: (row: TraceRow) => number,
  intervalMs: number,
): TraceRow[] {
  const found: TraceRow[] = [];
  for (const row of rows) {
    const last = found.at(-1);
    const sinceMs = last === undefined ? Number.POSITIVE_INFINITY : row.timeMs - last.timeMs;
    const changed = last === undefined || value(row) !== value(last);
    // A change soon after an assumed refresh is that refresh, at its true time.
    if (changed && sinceMs < intervalMs / 2) found.pop();
    if (changed || sinceMs >= intervalMs - 5) found.push(row);
  }
  return found;
}

interface SmoothedExplanation {
  /** The probability that each bin was busy, given all evidence before and after it. */
  readonly busy: readonly number[];
  /** The log-likelihood of all evidence. */
  readonly logLikelihood: number;
}

/** The mean of several explanations, each weighted by its likelihood. */
function average(explanations: readonly SmoothedExplanation[]): number[] {
  const most = Math.max(...explanations.map(({ logLikelihood }) => logLikelihood));
  const weights = explanations.map(({ logLikelihood }) => Math.exp(logLikelihood - most));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return (explanations[0]?.busy ?? []).map((_, bin) =>
    explanations.reduce(
      (sum, { busy }, index) => sum + ((weights[index] ?? 0) / all) * (busy[bin] ?? 0),
      0,
    ),
  );
}

/** The power share of the newest slot for each history of bins. */
const slotLevels = Float64Array.from({ length: states }, (_, state) => {
  const steady = (1 << startBins) - 1;
  let sum = 0;
  for (let bin = 0; bin < slotBins; bin++)
    if (((state >> bin) & 1) === 1)
      sum += ((state >> (bin + 1)) & steady) === steady ? 1 : startLevel;
  return sum / slotBins;
});

class Evidence {
  /** The log-likelihood of each history of bins that ends at a bin. */
  readonly #bins: Float64Array[];

  constructor(bins: number) {
    this.#bins = Array.from({ length: bins }, () => new Float64Array(states));
  }

  utilization(bin: number, share: number, delayBins: number): void {
    const mask = (1 << windowBins) - 1;
    this.#add(
      bin,
      utilizationSigma,
      (state) => share - bitCount((state >> delayBins) & mask) / windowBins,
    );
  }

  slot(bin: number, share: number): void {
    this.#add(bin, slotSigma, (state) => share - (slotLevels[state] ?? 0));
  }

  instant(bin: number, share: number): void {
    this.#add(bin, instantSigma, (state) => share - ((state >> instantDelayBins) & 1));
  }

  clock(bin: number, share: number): void {
    this.#add(bin, clockSigma, (state) => share - ((state >> clockDelayBins) & 1));
  }

  #add(bin: number, sigma: number, difference: (state: number) => number): void {
    const likelihood = this.#bins[bin];
    if (likelihood === undefined) return;
    for (let state = 0; state < states; state++)
      likelihood[state] = (likelihood[state] ?? 0) - difference(state) ** 2 / (2 * sigma ** 2);
  }

  smooth(): SmoothedExplanation {
    const forward: Float64Array[] = [];
    let logLikelihood = 0;
    for (const [bin, likelihood] of this.#bins.entries()) {
      const now = new Float64Array(states);
      const before = forward[bin - 1];
      for (let state = 0; state < states; state++)
        if (before === undefined) now[state] = 1;
        else
          for (const bit of [0, 1]) {
            const next = ((state << 1) | bit) & (states - 1);
            now[next] = (now[next] ?? 0) + (before[state] ?? 0) * transition(state, bit);
          }
      logLikelihood += normalise(now, likelihood);
      forward.push(now);
    }
    const busy: number[] = [];
    let backward = new Float64Array(states).fill(1);
    for (let bin = this.#bins.length - 1; bin >= 0; bin--) {
      let on = 0;
      let all = 0;
      for (let state = 0; state < states; state++) {
        const weight = (forward[bin]?.[state] ?? 0) * (backward[state] ?? 0);
        all += weight;
        if ((state & 1) === 1) on += weight;
      }
      busy[bin] = all === 0 ? 0 : on / all;
      const likelihood = this.#bins[bin] ?? new Float64Array(states);
      const weighted = backward.slice();
      normalise(weighted, likelihood);
      const earlier = new Float64Array(states);
      for (let state = 0; state < states; state++)
        for (const bit of [0, 1])
          earlier[state] =
            (earlier[state] ?? 0) +
            (weighted[((state << 1) | bit) & (states - 1)] ?? 0) * transition(state, bit);
      backward = earlier;
    }
    return { busy, logLikelihood };
  }
}

const transition = (state: number, bit: number): number =>
  (state & 1) === bit ? 1 - edgeProbability : edgeProbability;

/** Multiplies by a likelihood and scales to a sum of 1; returns the logarithm of the sum. */
function normalise(weights: Float64Array, logLikelihood: Float64Array): number {
  const most = logLikelihood.reduce((left, right) => Math.max(left, right));
  let sum = 0;
  for (let state = 0; state < states; state++) {
    const weight = (weights[state] ?? 0) * Math.exp((logLikelihood[state] ?? 0) - most);
    weights[state] = weight;
    sum += weight;
  }
  if (sum > 0)
    for (let state = 0; state < states; state++) weights[state] = (weights[state] ?? 0) / sum;
  return most + Math.log(sum);
}

function bitCount(value: number): number {
  let count = 0;
  for (let rest = value; rest !== 0; rest &= rest - 1) count++;
  return count;
}
