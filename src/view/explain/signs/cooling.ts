/**
 * Heat that the power does not explain. A robust fit over all GPUs of a model, each with an offset of its own, predicts the
 * temperature from the power now and as the heatsink remembers it; what is above that, and not in the whole machine, is the
 * card. The fan shows a stopped fan; the memory beside the die distinguishes missing air (both get hot) from bad contact (the die alone).
 */
import {
  EvidenceWriter,
  confidenceOf,
  type Finding,
  newestCells,
  sinceCell,
  type SignContext,
} from "../finding.ts";
import type { FleetCells, GpuCells } from "../fleet-cells.ts";
import { cellMs } from "../grid.ts";
import { changePoint, fitRobust, medianOf, quantileOf } from "../statistics.ts";

const inputCount = 6;
/** Time constants of the power that a heatsink remembers. */
const memorySeconds = [60, 240] as const;
/** After a gap nobody knows what the card did before. */
const settleCells = 9;
const leastRows = 60;
const sigmasOff = 4;
/** Fewer cards do not make a machine that is hot as a whole. */
const leastPeers = 4;
/** Of the die's extra heat, the part that shows on the memory when the air is missing. */
const airflowShare = 0.72;

/** What one model's fit says of its GPUs: kelvins above the prediction. */
interface HeatResiduals {
  readonly die: ReadonlyMap<GpuCells, Float64Array>;
  readonly memory: ReadonlyMap<GpuCells, Float64Array>;
  readonly sigma: number;
}

interface HeatInputs {
  readonly cells: GpuCells;
  readonly rows: Int32Array;
  readonly inputs: Float64Array;
  readonly scaleWatts: number;
}

export function coolingSigns(context: SignContext): Finding[] {
  const { fleet, scope } = context;
  const models = new Set(scope.map(({ gpu }) => gpu.model));
  const hosts = new Set(scope.map(({ gpu }) => gpu.host));
  // The neighbours of another model show whether the machine is hot as a whole.
  for (const { gpu } of fleet.gpus) if (hosts.has(gpu.host)) models.add(gpu.model);
  const residuals = new Map<string, HeatResiduals>();
  for (const model of models) residuals.set(model, fitModel(fleet, model));
  const rooms = new Map([...hosts].map((host) => [host, roomOf(fleet, host, residuals)]));
  return [
    ...scope.flatMap((cells) => {
      const heat = residuals.get(cells.gpu.model);
      const room = rooms.get(cells.gpu.host);
      return [
        ...fanSigns(fleet, cells),
        ...(heat === undefined ? [] : heatSigns(fleet, cells, heat, room)),
      ];
    }),
    ...[...rooms].flatMap(([host, room]) => roomSigns(context, host, room)),
  ];
}

function fitModel(fleet: FleetCells, model: string): HeatResiduals {
  const all = fleet.gpus
    .filter(({ gpu }) => gpu.model === model)
    .map((cells) => inputsOf(fleet, cells));
  const die = fitSensor(fleet, all, (cells) => cells.get(cells.celsiusField));
  const memory = fitSensor(fleet, all, (cells) => cells.get("memoryCelsius"));
  return { die: die.residuals, memory: memory.residuals, sigma: die.sigma };
}

/** Power now, as the heatsink remembers it, and the memory's load; for cells after which nothing is forgotten. */
function inputsOf({ grid }: FleetCells, cells: GpuCells): HeatInputs {
  const power = cells.get("power");
  const memoryLoad = cells.get("memoryUtilization");
  const scaleWatts = cells.last("powerLimit") ?? Math.max(300, quantileOf(power, 1) || 0);
  const rows: number[] = [];
  const inputs = new Float64Array(grid.cellCount * inputCount);
  const past = memorySeconds.map(() => 0);
  let settled = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (let cell = 0; cell < power.length; cell++) {
    const watts = power[cell] as number;
    if (Number.isNaN(watts)) continue;
    const share = watts / scaleWatts;
    const nowMs = grid.endMs[cell] as number;
    const gapMs = nowMs - lastMs;
    lastMs = nowMs;
    if (gapMs > 5 * cellMs) {
      past.fill(share);
      settled = 0;
    } else {
      settled += 1;
      memorySeconds.forEach((seconds, at) => {
        const was = past[at] as number;
        past[at] = was + (share - was) * (1 - Math.exp(-gapMs / 1_000 / seconds));
      });
    }
    if (settled < settleCells) continue;
    const [middle = share, slow = share] = past;
    const at = rows.push(cell) - 1;
    inputs.set(
      [share, middle, slow, middle * middle, slow * slow, memoryLoad[cell] || 0],
      at * inputCount,
    );
  }
  return { cells, rows: Int32Array.from(rows), inputs, scaleWatts };
}

function fitSensor(
  { grid }: FleetCells,
  all: readonly HeatInputs[],
  columnOf: (cells: GpuCells) => Float64Array,
): { readonly residuals: ReadonlyMap<GpuCells, Float64Array>; readonly sigma: number } {
  const inputs: number[] = [];
  const targets: number[] = [];
  const groups: number[] = [];
  all.forEach(({ cells, rows, inputs: own }, group) => {
    const column = columnOf(cells);
    rows.forEach((cell, row) => {
      const celsius = column[cell] ?? Number.NaN;
      if (Number.isNaN(celsius)) return;
      for (let at = 0; at < inputCount; at++) inputs.push(own[row * inputCount + at] as number);
      targets.push(celsius);
      groups.push(group);
    });
  });
  if (targets.length < leastRows) return { residuals: new Map(), sigma: Number.NaN };
  const fit = fitRobust(
    {
      inputCount,
      inputs: Float64Array.from(inputs),
      targets: Float64Array.from(targets),
      groups: Int32Array.from(groups),
      groupCount: all.length,
    },
    0.5,
  );
  const residuals = new Map(
    all.map(({ cells, rows, inputs: own }, group) => {
      const column = columnOf(cells);
      const left = new Float64Array(grid.cellCount).fill(Number.NaN);
      rows.forEach((cell, row) => {
        let value = (column[cell] ?? Number.NaN) - (fit.offsets[group] as number);
        for (let at = 0; at < inputCount; at++)
          value -= (fit.weights[at] as number) * (own[row * inputCount + at] as number);
        left[cell] = value;
      });
      return [cells, left] as const;
    }),
  );
  return { residuals, sigma: fit.sigma };
}

/** What most of a machine's cards show at least: the room, not the card. */
function roomOf(
  { grid, gpus }: FleetCells,
  host: string,
  residuals: ReadonlyMap<string, HeatResiduals>,
): Float64Array {
  const columns = gpus
    .filter(({ gpu }) => gpu.host === host)
    .flatMap((cells) => residuals.get(cells.gpu.model)?.die.get(cells) ?? []);
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

/** Little power makes little heat, and a fan that starts, stops and lags makes more of its own than a fit says. */
function leastKelvin(share: number, hasFan: boolean): number {
  if (!hasFan) return share > 0.4 ? 3 : share > 0.2 ? 3.5 : 6;
  return share > 0.4 ? 6 : share > 0.25 ? 8 : 13;
}

function heatSigns(
  fleet: FleetCells,
  cells: GpuCells,
  { die, memory, sigma }: HeatResiduals,
  room: Float64Array | undefined,
): Finding[] {
  const { grid } = fleet;
  const own = die.get(cells);
  if (own === undefined || Number.isNaN(sigma)) return [];
  const power = cells.get("power");
  const scaleWatts = cells.last("powerLimit") ?? Math.max(300, quantileOf(power, 1) || 0);
  const hasFan = cells.has("fan");
  const departures = new Float64Array(grid.cellCount).fill(Number.NaN);
  for (let cell = 0; cell < grid.cellCount; cell++) {
    const share = (power[cell] ?? Number.NaN) / scaleWatts;
    const limit = Math.max(leastKelvin(share, hasFan), sigmasOff * sigma);
    departures[cell] = ((own[cell] as number) - (room?.[cell] ?? 0)) / limit;
  }
  // Under heavy load, where bad contact shows most; under load; and now, where a card that slowed itself down is still hot.
  const [focus, ratio, leastPower] = [0.6, 0.25, 0]
    .map((least) => {
      const counts = (cell: number): boolean =>
        !Number.isNaN(departures[cell]) && (power[cell] ?? 0) >= least * scaleWatts;
      const newest = newestCells(grid, counts);
      return [newest, medianOf(newest.map((cell) => departures[cell] as number)), least] as const;
    })
    .filter(([newest]) => newest.length >= 5)
    .reduce((best, one) => (one[1] > best[1] ? one : best), [[] as number[], 0, 0] as const);
  if (!(ratio > 1)) return [];
  const end = focus.at(-1) ?? grid.cellCount - 1;
  const kelvin = medianOf(focus.map((cell) => (own[cell] as number) - (room?.[cell] ?? 0)));
  const memoryKelvin = medianOf(
    focus.map((cell) => (memory.get(cells)?.[cell] ?? Number.NaN) - (room?.[cell] ?? 0)),
  );
  const isAir = !hasFan && memoryKelvin / kelvin > airflowShare;
  const shown = departures.map((departure, cell) =>
    (power[cell] ?? 0) >= leastPower * scaleWatts ? departure : Number.NaN,
  );
  const since = sinceCell(grid, changePoint(shown, grid.recentCell));
  const evidence = new EvidenceWriter(fleet, cells);
  const celsius = medianOf(focus.map((cell) => cells.get(cells.celsiusField)[cell] as number));
  const watts = medianOf(focus.map((cell) => power[cell] as number));
  const heat = `is at ${celsius.toFixed(0)} °C at ${watts.toFixed(0)} W, where ${(celsius - kelvin).toFixed(0)} °C would be usual for it (${(kelvin / sigma).toFixed(0)} sigmas)`;
  const why = isAir
    ? `${heat}, and its memory is ${memoryKelvin.toFixed(0)} K too hot as well: no air passes its heatsink`
    : `${heat}${Number.isNaN(memoryKelvin) ? "" : `, while its memory is only ${Math.max(0, memoryKelvin).toFixed(0)} K too hot`}: heat does not get from the chip into the heatsink (paste, contact, dust)`;
  return [
    {
      cause: isAir ? "airflow_lost" : "cooling_degraded",
      gpus: [cells],
      ...since,
      confidence: confidenceOf(ratio),
      summary: why,
      evidence: [
        ...evidence.mean(cells.celsiusField, end, celsius - kelvin, kelvin / sigma),
        ...evidence.mean("power", end),
        ...(Number.isNaN(memoryKelvin)
          ? []
          : evidence.mean("memoryCelsius", end, meanUsual(cells, end, memoryKelvin))),
        ...evidence.mean("heatThrottled", end, 0),
      ],
    },
  ];
}

function meanUsual(cells: GpuCells, end: number, aboveKelvin: number): number {
  const [value] = [cells.get("memoryCelsius")[end] ?? Number.NaN];
  return value - aboveKelvin;
}

/** Degrees of a step of the fan's curve. */
const stepCelsius = 5;
const leastFanRatio = 0.12;
const leastFanCells = 8;

/** A fan that turns slower than cards of the model turn it at a few degrees less. */
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
  const turns = medianOf(focus.map((cell) => fan[cell] as number));
  const degrees = medianOf(focus.map((cell) => celsius[cell] as number));
  const evidence = new EvidenceWriter(fleet, cells);
  return [
    {
      cause: "fan_failure",
      gpus: [cells],
      ...sinceCell(grid, changePoint(departures, grid.recentCell)),
      confidence: Math.max(turns < 0.02 ? 0.92 : 0, confidenceOf(ratio)),
      summary: `${turns < 0.02 ? "its fan stands still" : `its fan turns at ${percent(turns)}`} at ${degrees.toFixed(0)} °C, where ${percent(expected)} would be usual`,
      evidence: [
        ...evidence.mean("fan", end, expected),
        ...evidence.mean(cells.celsiusField, end),
        ...evidence.mean("heatThrottled", end, 0),
      ],
    },
  ];
}

export const percent = (ratio: number): string => `${(100 * ratio).toFixed(0)} %`;

/** The usual fan speed at a temperature, by all cards of a model: of that step, or of the next cooler one that is known. */
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
  // The upper part: a card whose fans stand still is among them.
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
