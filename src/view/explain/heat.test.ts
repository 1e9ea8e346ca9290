/**
 * Tests the heat model against a heatsink simulated second by second: a thermal resistance to the air that falls with the airflow,
 * one time constant, and a chip and memory on it.
 */
import { expect, test } from "vitest";
import { FleetCells, type GpuCells } from "./fleet-cells.ts";
import { CellGrid, cellMs } from "./grid.ts";
import { fitHeat, type HeatFit } from "./heat.ts";
import { medianOf } from "./statistics.ts";

const timeMs = Date.UTC(2026, 0, 6);
const limitWatts = 500;
const sinkSeconds = 70;
/** Kelvin per watt at full airflow. */
const resistance = { sink: 0.04, die: 0.05, memory: 0.02 };

interface Card {
  readonly inletCelsius: number;
  /** Duty of the card's own fan. Absent if the chassis moves the air. */
  readonly fan?: (atMs: number) => number;
  /** Factor on the usual resistance between chip and heatsink. */
  readonly contact?: (atMs: number) => number;
  /** Factor on the usual airflow, which no sensor reports. */
  readonly airflow?: (atMs: number) => number;
}

/** Power that changes every few minutes, different on each card. */
const wattsAt = (card: number, atMs: number): number => {
  const phase = Math.sin(Math.floor(atMs / 300_000) * 12.9898 + card * 78.233) * 43758.5453;
  return 90 + 360 * (phase - Math.floor(phase));
};

function fleetOf(cards: readonly Card[]): FleetCells {
  const grid = new CellGrid(timeMs);
  const fleet = new FleetCells(
    grid,
    cards.map((_, card) => ({
      uuid: `GPU-${card}`,
      host: `n${Math.floor(card / 8)}`,
      index: String(card % 8),
      model: "M",
      vendor: "v",
    })),
  );
  cards.forEach((card, at) => fill(fleet.gpus[at], card, at, grid));
  return fleet;
}

function fill(cells: GpuCells | undefined, card: Card, at: number, grid: CellGrid): void {
  if (cells === undefined) throw new Error("BUG: no such card");
  const columns = {
    power: cells.open("power"),
    limit: cells.open("powerLimit").fill(limitWatts),
    edge: cells.open("edge"),
    memory: cells.open("memoryCelsius"),
  };
  const fan = card.fan === undefined ? undefined : cells.open("fan");
  let sinkKelvin = 0;
  for (const { fromMs, toMs, firstCell } of grid.windows)
    // Simulates the load before the window, too.
    for (let now = fromMs - 900_000; now < toMs; now += 1_000) {
      const watts = wattsAt(at, now);
      const flow = ((card.fan?.(now) ?? 1) * (card.airflow?.(now) ?? 1)) ** 0.8;
      const settled = (watts * resistance.sink) / flow;
      sinkKelvin += ((settled - sinkKelvin) * flow) / sinkSeconds;
      if (now < fromMs || (now - fromMs) % cellMs !== 0) continue;
      const cell = firstCell + (now - fromMs) / cellMs;
      const touch = resistance.die * (card.contact?.(now) ?? 1);
      columns.power[cell] = watts;
      columns.edge[cell] = card.inletCelsius + sinkKelvin + watts * touch;
      columns.memory[cell] = card.inletCelsius + sinkKelvin + watts * resistance.memory;
      if (fan !== undefined) fan[cell] = card.fan?.(now) ?? 0;
    }
}

/** Returns the median of the last `minutes`. */
function newest({ residuals }: HeatFit, fleet: FleetCells, card: number, minutes = 20): number {
  const gpu = fleet.gpus[card];
  const column = gpu === undefined ? undefined : residuals.get(gpu);
  return medianOf((column ?? new Float64Array(0)).slice(-minutes * 3));
}
const meanWatts = (card: number, minutes = 20): number => {
  const watts = Array.from({ length: minutes * 3 }, (_, at) => wattsAt(card, timeMs - at * cellMs));
  return medianOf(watts);
};

const sound: readonly Card[] = Array.from({ length: 8 }, (_, card) => ({
  inletCelsius: 22 + 1.5 * card,
}));
const withCard = (card: Card, at = 0): readonly Card[] => sound.with(at, card);
const faultMs = timeMs - 40 * 60_000;
const from = (value: number) => (now: number) => (now >= faultMs ? value : 1);

test("changing power on cards of different inlets leaves less than a kelvin unexplained", () => {
  const fleet = fleetOf(sound);
  const { die, memory, contact } = fitHeat(fleet, "M");
  for (const { sigma } of [die, memory, contact]) expect(sigma).toBeLessThan(0.8);
  for (let card = 0; card < 8; card++) expect(Math.abs(newest(die, fleet, card))).toBeLessThan(0.8);
});

test("bad contact shows as the kelvins that it adds: on the chip and over the memory, not on the memory", () => {
  const fleet = fleetOf(withCard({ inletCelsius: 22, contact: from(1.6) }));
  const { die, memory, contact } = fitHeat(fleet, "M");
  const added = meanWatts(0) * resistance.die * 0.6;
  expect(added).toBeGreaterThan(5);
  expect(Math.abs(newest(die, fleet, 0) - added)).toBeLessThan(0.25 * added);
  expect(Math.abs(newest(contact, fleet, 0) - added)).toBeLessThan(0.25 * added);
  expect(Math.abs(newest(memory, fleet, 0))).toBeLessThan(0.8);
  for (let card = 1; card < 8; card++) expect(Math.abs(newest(die, fleet, card))).toBeLessThan(0.8);
});

test("lost airflow shows on chip and memory alike, and not between them", () => {
  const fleet = fleetOf(withCard({ inletCelsius: 22, airflow: from(0.3) }));
  const { die, memory, contact } = fitHeat(fleet, "M");
  const added = meanWatts(0) * resistance.sink * (0.3 ** -0.8 - 1);
  expect(Math.abs(newest(die, fleet, 0) - added)).toBeLessThan(0.25 * added);
  expect(Math.abs(newest(memory, fleet, 0) - added)).toBeLessThan(0.25 * added);
  expect(Math.abs(newest(contact, fleet, 0))).toBeLessThan(0.8);
});

test("a fan that is turned down explains the heat: nothing is left over", () => {
  const busyFans = sound.map((card, at) => ({
    ...card,
    // Each card's fan follows its power, as with a fan curve over temperature.
    fan: (now: number) => 0.35 + (0.5 * wattsAt(at, now)) / limitWatts,
  }));
  const quiet = { inletCelsius: 22, fan: (now: number) => (now >= faultMs ? 0.3 : 0.6) };
  const fleet = fleetOf(busyFans.with(0, quiet));
  const { die } = fitHeat(fleet, "M");
  const added = meanWatts(0) * resistance.sink * (0.3 ** -0.8 - 0.6 ** -0.8);
  expect(added).toBeGreaterThan(8);
  expect(Math.abs(newest(die, fleet, 0))).toBeLessThan(0.2 * added);
});

test("right after a gap nothing is predicted", () => {
  const fleet = fleetOf(sound);
  const { die } = fitHeat(fleet, "M");
  const [gpu] = fleet.gpus;
  const column = gpu === undefined ? undefined : die.residuals.get(gpu);
  for (const { firstCell } of fleet.grid.windows)
    expect(column?.subarray(firstCell, firstCell + 9).every(Number.isNaN)).toBe(true);
});
