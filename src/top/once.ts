/** One picture for scripts: every number with its unit, every absent value with its reason. */
import { columnKeys, factKeys, type WireValue } from "../view/live/protocol.ts";
import { wireColumns } from "../view/live/columns.ts";
import type { Unit } from "../model/catalogue/entry.ts";
import { read } from "../view/gpu.ts";
import type { Picture } from "./model/picture.ts";

interface Quantity {
  readonly value: number | null;
  readonly unit: Unit;
  readonly absent?: string;
}

const quantity = (value: WireValue, unit: Unit): Quantity =>
  typeof value === "number" ? { value, unit } : { value: null, unit, absent: value };

const factUnits: Readonly<Record<(typeof factKeys)[number], Unit>> = {
  memoryTotal: "bytes",
  powerLimitDefault: "watts",
  limitTarget: "celsius",
  limitSlowdown: "celsius",
  limitShutdown: "celsius",
  limitMemory: "celsius",
  clockMaxSm: "hertz",
  clockMaxGraphics: "hertz",
  linkGenerationMax: "none",
  linkWidthMax: "none",
};

const snake = (key: string): string =>
  key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export function onceJson(picture: Picture): unknown {
  return {
    schema: "gpulse.top/1",
    time: new Date(picture.timeMs).toISOString(),
    from: picture.from,
    simulated: picture.gpus.some(({ device }) => device.simulated),
    problems: picture.problems,
    gpus: picture.gpus.map(({ device, row, state }) => ({
      uuid: device.uuid,
      host: device.host,
      index: device.index,
      vendor: device.vendor,
      model: device.model,
      simulated: device.simulated,
      state,
      throttle: typeof row.throttle === "string" ? null : row.throttle,
      ...(typeof row.throttle === "string" ? { throttle_absent: row.throttle } : {}),
      job: row.job ?? null,
      user: row.user ?? null,
      readings: Object.fromEntries(
        wireColumns.map(({ key, unit }) => [snake(key), quantity(read({ row }, key), unit)]),
      ),
      limits: Object.fromEntries(
        factKeys.map((key) => [snake(key), quantity(device.facts[key], factUnits[key])]),
      ),
    })),
    processes: picture.tasks.map((task) => ({
      gpu: task.uuid,
      host: task.host,
      pid: task.pid ?? null,
      name: task.name ?? null,
      user: task.user ?? null,
      container: task.container ?? null,
      pod: task.pod ?? null,
      namespace: task.namespace ?? null,
      workload: task.workload ?? null,
      memory: quantity(task.memoryBytes, "bytes"),
      utilization: quantity(task.utilization, "ratio"),
    })),
  };
}

/** Newer readings come after the text columns, so that scripts that rely on column positions keep working. */
const FIRST_CSV_READINGS = columnKeys.indexOf("eccUncorrected") + 1;

/** One line per GPU. The unit is in the name of the column, and an absent value is empty. */
export function onceCsv(picture: Picture): string {
  const names = wireColumns.map(({ key, unit }) =>
    unit === "none" || snake(key).endsWith(unit) ? snake(key) : `${snake(key)}_${unit}`,
  );
  const head = [
    "time",
    "host",
    "gpu",
    "uuid",
    "model",
    "simulated",
    "state",
    ...names.slice(0, FIRST_CSV_READINGS),
    "memory_total_bytes",
    "throttle",
    "job",
    "user",
    ...names.slice(FIRST_CSV_READINGS),
  ];
  const time = new Date(picture.timeMs).toISOString();
  const lines = picture.gpus.map(({ device, row, state }) => {
    const numbers = columnKeys.map((key) => numberOrEmpty(read({ row }, key)));
    return [
      time,
      device.host,
      device.index,
      device.uuid,
      device.model,
      device.simulated,
      state,
      ...numbers.slice(0, FIRST_CSV_READINGS),
      numberOrEmpty(device.facts.memoryTotal),
      typeof row.throttle === "string" ? "" : row.throttle.join(" "),
      row.job ?? "",
      row.user ?? "",
      ...numbers.slice(FIRST_CSV_READINGS),
    ];
  });
  return [head, ...lines].map((cells) => `${cells.map(quoted).join(",")}\n`).join("");
}

const numberOrEmpty = (value: WireValue): number | "" => (typeof value === "number" ? value : "");

const quoted = (cell: string | number | boolean): string => {
  // Text that a spreadsheet would interpret as a formula is escaped; a negative number is not.
  const isFormula = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell);
  const text = `${isFormula ? "'" : ""}${cell}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
