/** An anomaly: a departure of one GPU from the behaviour expected from its own past and its peers, with a description. No I/O in this folder. */

export const anomalyKinds = [
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
  /** Of a family only one is reported at a time: a stopped fan and the heat that follows are one fault. */
  readonly family: "cooling" | "power" | "speed" | "memory" | "link";
  /** What it explains better, and takes the place of. */
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

/** Who it is about: the labels every series of the GPU carries. */
export interface AnomalyDevice {
  readonly uuid: string;
  readonly gpu: string;
  readonly host: string;
  readonly model: string;
  /** Of what another machine sent. */
  readonly job: string | undefined;
  readonly instance: string | undefined;
}

/** What a detector saw against what it expected, at one instant. */
export interface Evidence {
  readonly seen: number;
  readonly expected: number;
  /** In catalogue terms, or `ratio`. */
  readonly unit: string;
  /** How far, in robust standard deviations (1.4826 times the median absolute deviation). */
  readonly sigmas: number;
  /** One sentence with both numbers. */
  readonly says: string;
  /** The series to look at, as PromQL selectors. */
  readonly series: readonly string[];
}

export interface Anomaly extends Evidence {
  readonly kind: AnomalyKind;
  readonly severity: AnomalySeverity;
  readonly device: AnomalyDevice;
  /** When the departure began, which is before it was reported. */
  readonly sinceMs: number;
  readonly toldMs: number;
  readonly endedMs: number | undefined;
}

export interface AnomalyChange {
  readonly change: "began" | "ended";
  readonly anomaly: Anomaly;
}

export type AnomalyListener = (change: AnomalyChange) => void;
