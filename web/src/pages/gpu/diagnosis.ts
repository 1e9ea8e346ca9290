/** The summary of a GPU's problem: what, since when, its cost, the likely cause, the state of its peers, and the next step. Pure. */
import { formatEvidence, formatSince } from "../../../../src/view/explain/quantity.ts";
import type { CauseEvidence, ExplainedCause } from "../../../../src/view/explain/explanation.ts";
import { clock, type Gpu, read, temperature } from "../../../../src/view/gpu.ts";
import { rank, severity } from "../../../../src/view/gpu-status.ts";
import type { GpuHealthReport } from "../../../../src/view/health/report.ts";
import { actionWords } from "../../../../src/view/health/verdict.ts";
import type { WireValue } from "../../../../src/view/live/protocol.ts";

export interface Diagnosis {
  readonly what: string;
  readonly sinceMs: number;
  /** True if it began before the history that was read. */
  readonly isOlder: boolean;
  /** `−65 % clock`; undefined without a number for it. */
  readonly cost: string | undefined;
  /** The likely cause with its numbers, as sentences. */
  readonly why: string;
  /** The state of the other GPUs of its model on its machine; undefined without any. */
  readonly peers: string | undefined;
  readonly next: string;
  /** Address of the runbook section. */
  readonly href: string | undefined;
}

export interface DiagnosisInput {
  readonly gpu: Gpu;
  readonly all: readonly Gpu[];
  readonly verdict: Pick<GpuHealthReport, "reasons"> | undefined;
  /** The most likely cause; undefined until the hub has responded. */
  readonly cause: ExplainedCause | undefined;
}

/** Undefined if neither the verdict nor the causes show a problem. */
export function diagnose({ gpu, all, verdict, cause }: DiagnosisInput): Diagnosis | undefined {
  const reason = verdict?.reasons.find(({ state }) => state !== "healthy");
  if (cause !== undefined) {
    // The three-minute mean may include the time before the problem began: then the present value shows the cost.
    const evidence =
      cause.evidence.find((one) => costOf(one) !== undefined) ??
      cause.evidence
        .map((one) => ({ ...one, value: presentOf(gpu, one) }))
        .find((one) => costOf(one) !== undefined);
    return {
      what: cause.title,
      sinceMs: cause.sinceMs,
      isOlder: cause.isOlder,
      cost: evidence && costOf(evidence),
      why: withoutName(cause.summary),
      peers: peersText(gpu, all, evidence?.metric),
      next: firstSentence(cause.runbook.step),
      href: cause.runbook.href.replace(/^\//, ""),
    };
  }
  if (reason === undefined) return undefined;
  return {
    what: reason.title.replace(/^./, (first) => first.toUpperCase()),
    sinceMs: Date.parse(reason.since),
    isOlder: false,
    cost: undefined,
    why: reason.text,
    peers: peersText(gpu, all, undefined),
    next: `${actionWords[reason.action].replace(/^./, (first) => first.toUpperCase())}.`,
    href: undefined,
  };
}

const costNames: Readonly<Record<string, string>> = {
  gpu_clock_hertz: "clock",
  gpu_power_limit_watts: "power limit",
  gpu_power_watts: "power",
  gpu_temperature_celsius: "temperature",
  gpu_pcie_link_width: "PCIe lanes",
  gpu_pcie_link_generation: "PCIe generation",
  gpu_fan_speed_ratio: "fan speed",
  gpu_utilization_ratio: "utilisation",
};
/** Smaller differences are not shown. */
const LEAST_COST = 0.03;

function costOf({ metric, value, usual, unit }: CauseEvidence): string | undefined {
  const name = costNames[metric];
  if (name === undefined || usual === null || usual === 0) return undefined;
  const sign = value < usual ? "−" : "+";
  if (Math.abs(value - usual) / Math.abs(usual) < LEAST_COST) return undefined;
  // A percentage of degrees is meaningless.
  if (unit === "celsius") return `${sign}${Math.abs(value - usual).toFixed(0)} °C`;
  return `${sign}${Math.round((100 * Math.abs(value - usual)) / Math.abs(usual))} % ${name}`;
}

const peerReadings: Readonly<
  Record<string, { readonly unit: string; readonly of: (gpu: Gpu) => WireValue }>
> = {
  gpu_clock_hertz: { unit: "hertz", of: clock },
  gpu_temperature_celsius: { unit: "celsius", of: temperature },
  gpu_power_watts: { unit: "watts", of: (gpu) => read(gpu, "power") },
  gpu_power_limit_watts: { unit: "watts", of: (gpu) => read(gpu, "powerLimit") },
  gpu_utilization_ratio: { unit: "ratio", of: (gpu) => read(gpu, "utilization") },
};

function presentOf(gpu: Gpu, { metric, value }: CauseEvidence): number {
  const now = peerReadings[metric]?.of(gpu);
  return typeof now === "number" ? now : value;
}

function peersText(gpu: Gpu, all: readonly Gpu[], metric: string | undefined): string | undefined {
  const peers = all.filter(
    ({ id, device }) =>
      id !== gpu.id && device.host === gpu.device.host && device.model === gpu.device.model,
  );
  if (peers.length === 0) return undefined;
  const sick = peers.filter((peer) => severity(peer) >= rank.warn).length;
  const warned =
    sick === 0
      ? "none has"
      : sick === peers.length
        ? "all have"
        : `${sick} ${sick === 1 ? "has" : "have"}`;
  const reading = metric === undefined ? undefined : peerReadings[metric];
  const values = (reading === undefined ? [] : peers.map((peer) => reading.of(peer)))
    .filter((value) => typeof value === "number")
    .sort((one, other) => one - other);
  const middle = values[Math.floor(values.length / 2)];
  const present =
    reading === undefined || middle === undefined
      ? undefined
      : formatEvidence(middle, reading.unit);
  if (peers.length === 1) {
    const at = present === undefined ? "here has" : `here is at ${present}, with`;
    return `Its one peer ${at} ${sick === 0 ? "no" : "a"} warning.`;
  }
  return present === undefined
    ? `Of its ${peers.length} peers here, ${warned} a warning.`
    : `Its ${peers.length} peers here are at a median of ${present}; ${warned} a warning.`;
}

/** Removes the GPU's name from `GPU 2 of node-1: its clock …` on the GPU's own page. */
const withoutName = (summary: string): string =>
  summary
    .replace(/^GPU \S+ of \S+?(?: \(and \d+ more\))?(?:: | (?=is |has |reported ))/, "")
    .replace(/^(?=is |has |reported )/, "it ")
    .replace(/^./, (first) => first.toUpperCase());

const firstSentence = (text: string): string => /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;

/** `since 14:02 (12 min)`. */
export function formatOnset(
  { sinceMs, isOlder }: Pick<Diagnosis, "sinceMs" | "isOlder">,
  nowMs: number,
  instant: string,
): string {
  const age = formatSince(sinceMs, nowMs);
  return isOlder ? `for at least ${age}` : `since ${instant} (${age})`;
}
