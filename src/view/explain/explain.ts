/**
 * Explains why a GPU is in its current state. Looks for every sign on the subject's GPUs, ranks consequences below their cause, and
 * ranks the rest by confidence. Pure: the same cells give the same result.
 */
import { causes, type CauseName } from "./causes.ts";
import type { ExplainedCause, Explanation } from "./explanation.ts";
import type { Finding, SignContext } from "./finding.ts";
import type { FleetCells, GpuCells } from "./fleet-cells.ts";
import { coolingSigns } from "./signs/cooling.ts";
import { errorSigns } from "./signs/errors.ts";
import { loadSigns } from "./signs/load.ts";
import { memorySigns } from "./signs/memory.ts";
import { presenceSigns } from "./signs/presence.ts";
import { sharingSigns } from "./signs/sharing.ts";
import { speedSigns } from "./signs/speed.ts";
import { workSigns } from "./signs/work.ts";

export interface ExplainRequest {
  readonly fleet: FleetCells;
  readonly subject: Explanation["subject"];
  /** The GPUs to explain. */
  readonly gpus: readonly GpuCells[];
  /** GPUs of the same job: a slow one slows the others down. */
  readonly mates?: readonly GpuCells[];
  /** True if the question is why a GPU is idle; otherwise load is not a cause. */
  readonly asksIdle?: boolean;
  readonly runbookOf: (section: string) => ExplainedCause["runbook"];
}

/** A cause below the first threshold is not listed; one above the second answers the question. */
const leastListed = 0.25;
const leastCause = 0.5;
const mostCauses = 6;
/** Shortest history that shows what is usual. */
const leastHistoryMs = 30 * 60_000;
/** Factors on the confidence of a cause that is a consequence of another one, or that is on another GPU of the job. */
const consequenceShare = 0.5;
const mateShare = 0.85;
/** Factor for signs from before the GPU stopped reporting, which may be over. */
const hiddenShare = 0.8;

/** While one of these lasts, no other sign of the GPU can be observed. */
const silences: ReadonlySet<CauseName> = new Set(["driver_hung", "host_silent", "gpu_lost"]);

const alwaysLookedFor = [
  presenceSigns,
  errorSigns,
  coolingSigns,
  speedSigns,
  workSigns,
  memorySigns,
  sharingSigns,
] as const;

export function explain(request: ExplainRequest): Explanation {
  const { fleet, subject, gpus, mates = [], asksIdle = false, runbookOf } = request;
  const context: SignContext = { fleet, scope: [...gpus, ...mates] };
  const findings = [...alwaysLookedFor, ...(asksIdle ? [loadSigns] : [])].flatMap((sign) =>
    sign(context),
  );
  const ranked = rank(findings, gpus)
    .filter(({ confidence }) => confidence >= leastListed)
    .slice(0, mostCauses);
  const { grid } = fleet;
  const isAnswered = (ranked[0]?.confidence ?? 0) >= leastCause;
  const explained = isAnswered ? ranked.map((finding) => toCause(finding, runbookOf)) : [];
  return {
    subject,
    timeMs: grid.timeMs,
    fromMs: grid.fromMs,
    outcome: isAnswered ? "causes" : "nothing_stands_out",
    sentence: sentenceOf(explained, subject, fleet),
    causes: explained,
    lookedAt: {
      gpus: fleet.gpus.length,
      series: fleet.seriesCount,
      fromMs: Math.min(fleet.firstMs, grid.timeMs),
      toMs: grid.timeMs,
    },
  };
}

function rank(findings: readonly Finding[], asked: readonly GpuCells[]): Finding[] {
  const discounted = findings.map((finding) => {
    const isOwn = finding.gpus.some((cells) => asked.includes(cells));
    const isConsequence = findings.some(
      (other) =>
        other !== finding &&
        causes[other.cause].leadsTo.includes(finding.cause) &&
        other.gpus.some((cells) => finding.gpus.includes(cells)),
    );
    const isHidden =
      !silences.has(finding.cause) &&
      findings.some(
        ({ cause, gpus }) =>
          silences.has(cause) && finding.gpus.every((cells) => gpus.includes(cells)),
      );
    const share =
      (isOwn ? 1 : mateShare) *
      (isConsequence ? consequenceShare : 1) *
      (isHidden && finding.cause !== "xid_error" ? hiddenShare : 1);
    return { ...finding, confidence: finding.confidence * share };
  });
  return merge(discounted).sort(
    (left, right) => right.confidence - left.confidence || left.sinceMs - right.sinceMs,
  );
}

/** Merges the same cause on several GPUs into one. Several Xids of one GPU stay separate. */
function merge(findings: readonly Finding[]): Finding[] {
  const merged: Finding[] = [];
  for (const finding of [...findings].sort((left, right) => right.confidence - left.confidence)) {
    const at = merged.findIndex(
      (one) =>
        one.cause === finding.cause && !one.gpus.some((cells) => finding.gpus.includes(cells)),
    );
    const into = merged[at];
    if (into === undefined) merged.push(finding);
    else
      merged[at] = {
        ...into,
        gpus: [...into.gpus, ...finding.gpus],
        sinceMs: Math.min(into.sinceMs, finding.sinceMs),
        evidence: [...into.evidence, ...finding.evidence].slice(0, 12),
      };
  }
  return merged;
}

const gpuName = ({ gpu }: GpuCells): string => `GPU ${gpu.index} of ${gpu.host}`;

/** Causes whose summary already names the machine. */
const namesHost: ReadonlySet<CauseName> = new Set([
  "driver_hung",
  "host_silent",
  "hot_room",
  "host_memory_pressure",
  "host_cpu_pressure",
]);

/** Summaries that continue the GPU's name: `GPU 3 of node-7 is at 87 °C`, but `GPU 3 of node-7: its fan stands still`. */
const startsWithVerb = /^(?:is|has|reported) /;

function toCause(
  { cause, gpus, sinceMs, isOlder, confidence, summary, evidence, runbook: own }: Finding,
  runbookOf: ExplainRequest["runbookOf"],
): ExplainedCause {
  const { title, runbook } = causes[cause];
  const [first] = gpus;
  const others = gpus.length > 1 ? ` (and ${gpus.length - 1} more)` : "";
  const isNamed = namesHost.has(cause) || first === undefined;
  const joint = startsWithVerb.test(summary) ? " " : ": ";
  const text = isNamed ? summary : `${gpuName(first)}${others}${joint}${summary}`;
  return {
    cause,
    title,
    confidence: Math.round(confidence * 100) / 100,
    summary: `${text.charAt(0).toUpperCase()}${text.slice(1)}.`,
    sinceMs,
    isOlder,
    gpus: gpus.map(({ gpu }) => gpu.uuid),
    evidence: [...evidence],
    runbook: runbookOf(own ?? runbook),
  };
}

function sentenceOf(
  explained: readonly ExplainedCause[],
  { label }: Explanation["subject"],
  { gpus, seriesCount, firstMs, grid }: FleetCells,
): string {
  const [first, ...others] = explained;
  const historyMs = grid.timeMs - Math.min(firstMs, grid.timeMs);
  if (first === undefined && historyMs < leastHistoryMs)
    return `Nothing stands out about ${label}, but there are only ${Math.round(historyMs / 60_000)} min of history: too little to know what is usual. Ask again later.`;
  if (first === undefined)
    return `Nothing stands out about ${label}: ${seriesCount} series of ${gpus.length} GPUs are as they usually are.`;
  const more =
    others.length === 0
      ? ""
      : ` ${others.length} more ${others.length === 1 ? "cause is" : "causes are"} listed.`;
  return `Most likely: ${lowerTitle(first.title)} (${Math.round(first.confidence * 100)} % sure). ${first.summary}${more}`;
}

const lowerTitle = (title: string): string =>
  /^[A-Z][a-z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title;
