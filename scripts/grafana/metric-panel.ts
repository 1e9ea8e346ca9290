/** Panels of catalogue metrics: title, unit and explanation come only from the metric's entry. */
import type { MetricEntry, Unit } from "../../src/model/catalogue/index.ts";
import type { Panel } from "./shape.ts";

const grafanaUnits: Readonly<Record<Unit, string>> = {
  none: "short",
  ratio: "percentunit",
  bytes: "bytes",
  celsius: "celsius",
  watts: "watt",
  joules: "joule",
  hertz: "hertz",
  volts: "volt",
  rpm: "rotrpm",
  seconds: "s",
  bytes_per_second: "Bps",
};

const ratedUnits: Readonly<Partial<Record<Unit, string>>> = {
  none: "cps",
  bytes: "Bps",
  joules: "watt",
  // Seconds per second: a share of the time.
  seconds: "percentunit",
};

const unitOf = (entry: MetricEntry): string => grafanaUnits[entry.unit];

/** The unit of a counter's rate. */
function rateUnitOf(entry: MetricEntry): string {
  const unit = ratedUnits[entry.unit];
  if (unit === undefined) throw new Error(`BUG: a rate of ${entry.name} has no unit`);
  return unit;
}

const spelled: Readonly<Record<string, string>> = {
  gpu: "GPU",
  cpu: "CPU",
  pcie: "PCIe",
  ecc: "ECC",
  xid: "XID",
  sm: "SM",
  dram: "DRAM",
  ml: "ML",
  utilization: "utilisation",
  gpulse: "gpulse",
};
const unitWords =
  /_(bytes_per_second|timestamp_seconds|ratio|bytes|celsius|watts|joules|hertz|volts|rpm|seconds)$/;

/** `gpu_temperature_celsius` becomes "GPU temperature". */
export function titleOf(entry: MetricEntry): string {
  const words = entry.name
    .replace(/_total$/, "")
    .replace(unitWords, "")
    .split("_");
  const title = words.map((word) => spelled[word] ?? word).join(" ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}

type PanelInput = Omit<Panel, "title" | "unit" | "about"> &
  Partial<Pick<Panel, "title">> & {
    /** What to do about it, appended to the catalogue's description. */
    readonly todo?: string;
    /** Shows the rate of a counter instead of the counter. */
    readonly rate?: boolean;
  };

export function metricPanel(entry: MetricEntry, { todo, rate, ...panel }: PanelInput): Panel {
  return {
    title: titleOf(entry),
    unit: rate === true ? rateUnitOf(entry) : unitOf(entry),
    about: todo === undefined ? entry.help : `${entry.help} ${todo}`,
    // A share is drawn on a scale from 0 to 1, and non-negative values from 0.
    ...(entry.unit === "ratio" && { range: [0, 1] as const }),
    ...panel,
  };
}
