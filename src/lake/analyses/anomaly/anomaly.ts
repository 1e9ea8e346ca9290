/**
 * An anomaly: a departure of one GPU from the behaviour expected from its own past and its peers, with a description. No I/O in
 * this folder.
 */

const anomalyKinds = [
  "temperature_spike",
  "cooling_degraded",
  "fan_slow",
  "power_spike",
  "clock_low",
  "straggler",
  "memory_leak",
  "link_degraded",
] as const;
export type AnomalyKind = (typeof anomalyKinds)[number];

export type AnomalySeverity = "warning" | "info";

export interface KindFacts {
  readonly severity: AnomalySeverity;
  /** Only one anomaly of a family is reported at a time: a stopped fan and the resulting heat are one fault. */
  readonly family: "cooling" | "power" | "speed" | "memory" | "link";
  /** The kind that this one explains better and therefore replaces. */
  readonly outranks?: AnomalyKind;
  readonly title: string;
}

export const kindFacts: Readonly<Record<AnomalyKind, KindFacts>> = {
  temperature_spike: {
    severity: "warning",
    family: "cooling",
    title: "temperature jumped without more power",
  },
  cooling_degraded: {
    severity: "warning",
    family: "cooling",
    title: "hotter than its power explains",
  },
  fan_slow: {
    severity: "warning",
    family: "cooling",
    title: "fan too slow for its temperature",
  },
  power_spike: {
    severity: "warning",
    family: "power",
    title: "draws more power than its load explains",
  },
  clock_low: {
    severity: "warning",
    family: "speed",
    outranks: "straggler",
    title: "clock below its usual value under load",
  },
  straggler: { severity: "warning", family: "speed", title: "busy, but completes less work" },
  memory_leak: { severity: "warning", family: "memory", title: "memory grows and never shrinks" },
  link_degraded: { severity: "warning", family: "link", title: "PCIe link slower than usual" },
};

/** The GPU concerned: the labels that all its series carry. */
export interface AnomalyDevice {
  readonly uuid: string;
  readonly gpu: string;
  readonly host: string;
  readonly model: string;
  /** Labels of scraped or pushed data. */
  readonly job: string | undefined;
  readonly instance: string | undefined;
}

/** An observed value and the expected one at one instant. */
export interface Evidence {
  readonly seen: number;
  readonly expected: number;
  /** A unit of the catalogue, or `ratio`. */
  readonly unit: string;
  /** The distance in robust standard deviations (1.4826 times the median absolute deviation). */
  readonly sigmas: number;
  /** One sentence with both values. */
  readonly says: string;
  /** PromQL selectors of the relevant series. */
  readonly series: readonly string[];
}

export interface Anomaly extends Evidence {
  readonly kind: AnomalyKind;
  readonly severity: AnomalySeverity;
  readonly device: AnomalyDevice;
  /** When the departure began, which is before `toldMs`, when it was reported. */
  readonly sinceMs: number;
  readonly toldMs: number;
  readonly endedMs: number | undefined;
}

export interface AnomalyChange {
  readonly change: "began" | "ended";
  readonly anomaly: Anomaly;
}

export type AnomalyListener = (change: AnomalyChange) => void;
