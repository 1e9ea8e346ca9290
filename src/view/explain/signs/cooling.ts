/**
 * Cooling faults: heat that neither the power nor the whole machine explains. The fan reading shows a stopped fan; the memory next
 * to the chip distinguishes missing airflow (both are hot) from bad contact (only the chip is hot).
 */
import {
  EvidenceWriter,
  confidenceOf,
  type Finding,
  meanOver,
  newestCells,
  sinceCell,
  type SignContext,
} from "../finding.ts";
import type { FleetCells, GpuCells } from "../fleet-cells.ts";
import { fitHeat, type HeatFits, scaleWattsOf } from "../heat.ts";
import { changePoint, medianOf, quantileOf } from "../statistics.ts";

const sigmasOff = 3.3;
/** Fewer cards cannot show whether the whole machine is hot. */
const leastPeers = 4;
/** If the airflow is missing, at least this share of the die's extra heat shows on the memory. */
const airflowShare = 0.72;

export function coolingSigns(context: SignContext): Finding[] {
  const { fleet, scope } = context;
  const models = new Set(scope.map(({ gpu }) => gpu.model));
  const hosts = new Set(scope.map(({ gpu }) => gpu.host));
  // Neighbours of another model also show whether the whole machine is hot.
  for (const { gpu } of fleet.gpus) if (hosts.has(gpu.host)) models.add(gpu.model);
  const fits = new Map<string, HeatFits>();
  for (const model of models) fits.set(model, fitHeat(fleet, model));
  const rooms = new Map([...hosts].map((host) => [host, roomOf(fleet, host, fits)]));
  return [
    ...scope.flatMap((cells) => {
      const heat = fits.get(cells.gpu.model);
      const room = rooms.get(cells.gpu.host);
      return [
        ...fanSigns(fleet, cells),
        ...(heat === undefined ? [] : heatSigns(fleet, cells, heat, room)),
      ];
    }),
    ...[...rooms].flatMap(([host, room]) => roomSigns(context, host, room)),
  ];
}

/** Heat of the room: the extra heat that most cards of a machine have at least. */
function roomOf(
  { grid, gpus }: FleetCells,
  host: string,
  fits: ReadonlyMap<string, HeatFits>,
): Float64Array {
  const columns = gpus
    .filter(({ gpu }) => gpu.host === host)
    .flatMap((cells) => fits.get(cells.gpu.model)?.die.residuals.get(cells) ?? []);
  const room = new Float64Array(grid.cellCount);
  if (columns.length < leastPeers) return room;
  const values = new Float64Array(columns.length);
  for (let cell = 0; cell < grid.cellCount; cell++) {
    columns.forEach((column, at) => (values[at] = column[cell] as number));
    const low = quantileOf(values, 0.3);
    const high = quantileOf(values, 0.7);
    room[cell] = low > 0 ? low : Math.min(0, high) || 0;
  }
  return room;
}

/** Threshold for extra heat; higher at low power, where a difference in temperature means little. */
const leastKelvin = (share: number): number => (share > 0.2 ? 2.5 : 6);
/** Thresholds for the chip relative to its memory. At idle there is no heat flow between them. */
const leastContactKelvin = 1.2;
const leastContactShare = 0.15;

/**
 * Shares of full power: heavy load, where bad contact shows most; load; and any power, because a card that throttled itself may
 * still be hot.
 */
const loadLevels = [0.6, 0.25, 0] as const;

interface HeatFocus {
  readonly cells: readonly number[];
  /** The departure divided by its threshold. */
  readonly ratio: number;
  readonly leastPower: number;
}

function heatSigns(
  fleet: FleetCells,
  cells: GpuCells,
  { die, memory, contact }: HeatFits,
  room: Float64Array | undefined,
): Finding[] {
  const { grid } = fleet;
  const own = die.residuals.get(cells);
  if (own === undefined) return [];
  const power = cells.get("power");
  const scaleWatts = scaleWattsOf(cells);
  const overMemory = contact.residuals.get(cells);
  const byHeat = new Float64Array(grid.cellCount).fill(Number.NaN);
  const byContact = byHeat.slice();
  for (let cell = 0; cell < grid.cellCount; cell++) {
    const share = (power[cell] ?? Number.NaN) / scaleWatts;
    const limit = Math.max(leastKelvin(share), sigmasOff * die.sigma);
    byHeat[cell] = ((own[cell] as number) - (room?.[cell] ?? 0)) / limit;
    if (share > leastContactShare && overMemory !== undefined)
      byContact[cell] =
        (overMemory[cell] as number) / Math.max(leastContactKelvin, sigmasOff * contact.sigma);
  }
  const heat = focusOn(fleet, byHeat, power, scaleWatts);
  const touch = focusOn(fleet, byContact, power, scaleWatts);
  const isContact = touch.ratio > heat.ratio;
  const [focus, departures] = isContact ? [touch, byContact] : [heat, byHeat];
  if (!(focus.ratio > 1)) return [];
  const middle = (of: (cell: number) => number): number => medianOf(focus.cells.map(of));
  const kelvin = middle((cell) => (own[cell] as number) - (room?.[cell] ?? 0));
  const memoryKelvin = middle(
    (cell) => (memory.residuals.get(cells)?.[cell] ?? Number.NaN) - (room?.[cell] ?? 0),
  );
  const isAir = !isContact && !cells.has("fan") && memoryKelvin / kelvin > airflowShare;
  const shown = departures.map((departure, cell) =>
    (power[cell] ?? 0) >= focus.leastPower * scaleWatts ? departure : Number.NaN,
  );
  const evidence = new EvidenceWriter(fleet, cells);
  // The sentence states what the queries beside it return: means over the same three minutes.
  const end = busiestEnd(focus.cells, power);
  const meanAbove = (residuals: Float64Array | undefined): number =>
    residuals === undefined
      ? Number.NaN
      : meanOver(
          residuals.map((above, cell) => above - (room?.[cell] ?? 0)),
          end,
        );
  const celsius = meanOver(cells.get(cells.celsiusField), end);
  const usualCelsius = celsius - meanAbove(own);
  const memoryCelsius = meanOver(cells.get("memoryCelsius"), end);
  const memoryAbove = meanAbove(memory.residuals.get(cells));
  const watts = meanOver(power, end);
  const contactKelvin = isContact ? middle((cell) => overMemory?.[cell] ?? Number.NaN) : Number.NaN;
  const sigmas = isContact ? contactKelvin / contact.sigma : kelvin / die.sigma;
  const hot = `is at ${celsius.toFixed(0)} °C at ${watts.toFixed(0)} W, where ${usualCelsius.toFixed(0)} °C is usual for it`;
  const beside = Number.isNaN(memoryAbove)
    ? ""
    : `, while its memory is only ${Math.max(0, memoryAbove).toFixed(0)} K too hot`;
  const spread = `(${sigmas.toFixed(0)} sigmas)`;
  const why = isAir
    ? `${hot} ${spread}, and its memory is ${memoryAbove.toFixed(0)} K too hot as well: no air passes its heatsink`
    : isContact
      ? `${hot}, and its chip is ${contactKelvin.toFixed(0)} K hotter than its memory explains ${spread}: heat does not get from the chip into the heatsink (paste, contact)`
      : `${hot} ${spread}${beside}: heat does not get from the chip into the heatsink (paste, contact, dust)`;
  return [
    {
      cause: isAir ? "airflow_lost" : "cooling_degraded",
      gpus: [cells],
      ...sinceCell(grid, changePoint(shown, grid.recentCell)),
      confidence: confidenceOf(focus.ratio),
      summary: why,
      evidence: [
        ...evidence.mean(cells.celsiusField, end, usualCelsius, sigmas),
        ...evidence.mean("power", end),
        ...(Number.isNaN(memoryAbove)
          ? []
          : evidence.mean("memoryCelsius", end, memoryCelsius - memoryAbove)),
        ...evidence.mean("heatThrottled", end, 0),
      ],
    },
  ];
}

/** Selects the load level at which the newest minutes depart most. */
function focusOn(
  { grid }: FleetCells,
  departures: Float64Array,
  power: Float64Array,
  scaleWatts: number,
): HeatFocus {
  return loadLevels
    .map((leastPower): HeatFocus => {
      const counts = (cell: number): boolean =>
        !Number.isNaN(departures[cell]) && (power[cell] ?? 0) >= leastPower * scaleWatts;
      const newest = newestCells(grid, counts);
      const ratio = medianOf(newest.map((cell) => departures[cell] as number));
      return { cells: newest, ratio, leastPower };
    })
    .filter(({ cells }) => cells.length >= 5)
    .reduce((best, one) => (one.ratio > best.ratio ? one : best), {
      cells: [],
      ratio: 0,
      leastPower: 0,
    });
}

/** Share by which an earlier stretch has to draw more power than the newest one to be shown instead of it. */
const moreLoad = 1.05;

/** Returns the cell at which the newest three minutes of load end: work that pauses would show half of it. */
function busiestEnd(focus: readonly number[], power: Float64Array): number {
  let best = focus.at(-1) ?? 0;
  let watts = meanOver(power, best);
  for (const cell of focus.toReversed()) {
    const mean = meanOver(power, cell);
    if (mean > watts * moreLoad) [best, watts] = [cell, mean];
  }
  return best;
}

/** Width of a step of the fan curve, in degrees Celsius. */
const stepCelsius = 5;
const leastFanRatio = 0.12;
const leastFanCells = 8;

/** Finds a fan that turns slower than cards of the same model turn it at a few degrees less. */
function fanSigns(fleet: FleetCells, cells: GpuCells): Finding[] {
  if (!cells.has("fan")) return [];
  const { grid } = fleet;
  const curve = fanCurve(fleet, cells.gpu.model);
  const fan = cells.get("fan");
  const celsius = cells.get(cells.celsiusField);
  const usual = new Float64Array(grid.cellCount).fill(Number.NaN);
  const departures = usual.slice();
  for (let cell = 0; cell < grid.cellCount; cell++) {
    const degrees = celsius[cell] ?? Number.NaN;
    if (Number.isNaN(fan[cell] ?? Number.NaN) || Number.isNaN(degrees)) continue;
    const expected = curve(degrees - stepCelsius);
    // Fans that may stop by design prove nothing.
    if (expected === undefined || expected < leastFanRatio) continue;
    usual[cell] = expected;
    departures[cell] = (expected - (fan[cell] as number)) / leastFanRatio;
  }
  const focus = newestCells(grid, (cell) => !Number.isNaN(departures[cell]));
  const ratio = medianOf(focus.map((cell) => departures[cell] as number));
  if (focus.length < 4 || !(ratio > 1)) return [];
  const end = focus.at(-1) ?? grid.cellCount - 1;
  const expected = medianOf(focus.map((cell) => usual[cell] as number));
  const stands = medianOf(focus.map((cell) => fan[cell] as number)) < 0.02;
  const degrees = meanOver(celsius, end);
  const evidence = new EvidenceWriter(fleet, cells);
  return [
    {
      cause: "fan_failure",
      gpus: [cells],
      ...sinceCell(grid, changePoint(departures, grid.recentCell)),
      confidence: Math.max(stands ? 0.92 : 0, confidenceOf(ratio)),
      summary: `${stands ? "its fan stands still" : `its fan turns at ${percent(meanOver(fan, end))}`} at ${degrees.toFixed(0)} °C, where ${percent(expected)} is usual`,
      evidence: [
        ...evidence.mean("fan", end, expected),
        ...evidence.mean(cells.celsiusField, end),
        ...evidence.mean("heatThrottled", end, 0),
      ],
    },
  ];
}

export const percent = (ratio: number): string => `${(100 * ratio).toFixed(0)} %`;

/**
 * The usual fan speed at a temperature over all cards of a model: that of the temperature's step, or of the next cooler step with
 * data.
 */
function fanCurve(fleet: FleetCells, model: string): (celsius: number) => number | undefined {
  const steps = new Map<number, number[]>();
  for (const cells of fleet.gpus) {
    if (cells.gpu.model !== model || !cells.has("fan")) continue;
    const fan = cells.get("fan");
    const celsius = cells.get(cells.celsiusField);
    for (let cell = 0; cell < fan.length; cell++) {
      const step = Math.floor((celsius[cell] ?? Number.NaN) / stepCelsius);
      if (Number.isNaN(step) || Number.isNaN(fan[cell])) continue;
      const list = steps.get(step);
      if (list === undefined) steps.set(step, [fan[cell] as number]);
      else list.push(fan[cell] as number);
    }
  }
  // The 60 % quantile, because a card with a stopped fan may be among them.
  const usual = new Map(
    [...steps]
      .filter(([, values]) => values.length >= leastFanCells)
      .map(([step, values]) => [step, quantileOf(values, 0.6)]),
  );
  return (celsius) => {
    for (let step = Math.floor(celsius / stepCelsius); step >= 0; step--) {
      const known = usual.get(step);
      if (known !== undefined) return known;
    }
    return undefined;
  };
}

function roomSigns({ fleet, scope }: SignContext, host: string, room: Float64Array): Finding[] {
  const { grid } = fleet;
  const departures = room.map((kelvin) => kelvin / 6);
  const focus = newestCells(grid, () => true);
  const ratio = medianOf(focus.map((cell) => departures[cell] as number));
  if (!(ratio > 1)) return [];
  const gpus = scope.filter(({ gpu }) => gpu.host === host);
  const [first] = gpus;
  if (first === undefined) return [];
  const end = grid.cellCount - 1;
  const kelvin = medianOf(focus.map((cell) => room[cell] as number));
  return [
    {
      cause: "hot_room",
      gpus,
      ...sinceCell(grid, changePoint(departures, grid.recentCell)),
      confidence: confidenceOf(ratio, 0.9),
      summary: `all GPUs of ${host} are about ${kelvin.toFixed(0)} K hotter than their power explains: inlet air, chassis fans or the room`,
      evidence: gpus.flatMap((cells) =>
        new EvidenceWriter(fleet, cells).mean(
          cells.celsiusField,
          end,
          (cells.get(cells.celsiusField)[end] ?? Number.NaN) - kelvin,
        ),
      ),
    },
  ];
}
