/** Understands a question in free word order, where no pattern of the grammar fits: decides by the concepts of its words. Pure. */
import { deviceMatchers, type GpuArguments } from "../../view/tools/gpu-selector.ts";
import type { MatchedQuestion } from "./grammar.ts";
import { partsOf, type QuestionParts } from "./parts.ts";
import { errorMetrics, otherReadings, stateReadings } from "./readings.ts";

/** Examples for the list of supported questions. */
export const freeFormExamples: readonly string[] = [
  "top 5 gpus by power",
  "average utilization last week",
  "how many gpus are idle",
  "which nodes have free gpus",
  "which gpus are power capped",
  "energy of gpu-node-3 last week",
  "fan speed of gpu-node-3",
  "which driver versions are there",
  "can gpu-node-3 take jobs",
  "what does xid 79 mean",
  "compare gpu-node-3 with yesterday",
];

export function matchFreeForm(question: string): MatchedQuestion | undefined {
  const parts = partsOf(question);
  if (parts === undefined) return undefined;
  for (const intent of intents) {
    const matched = intent(parts);
    if (matched !== undefined) return ignoresName(parts, matched) ? undefined : matched;
  }
  return undefined;
}

/** True if the tool's input leaves out a model, an owner, a number or a period of the question: it would answer another one. */
function ignoresName(
  { model, owner, count, back }: QuestionParts,
  { tool, input }: MatchedQuestion,
): boolean {
  const text = JSON.stringify(input);
  // A bill lists all owners.
  const names = tool === "bill_jobs" ? [] : [model, owner?.name];
  return (
    names.some((name) => name !== undefined && !text.includes(JSON.stringify(name).slice(1, -1))) ||
    (count !== undefined && input["limit"] !== count && !text.includes(`(${count},`)) ||
    (back !== undefined && tool !== "compare" && !text.includes(back))
  );
}

type Intent = (parts: QuestionParts) => MatchedQuestion | undefined;

const isWhole = ({ gpus, hosts }: QuestionParts): boolean => gpus.length + hosts.length === 0;

/** The GPU or host that is asked about; undefined if there are several. */
function subjectOf({ gpus, hosts }: QuestionParts): Pick<GpuArguments, "gpu" | "host"> | undefined {
  const [gpu] = gpus;
  const [host] = hosts;
  if (gpus.length > 1 || hosts.length > 1) return undefined;
  if (gpu === undefined) return host === undefined ? {} : { host };
  if (host === undefined) return { gpu };
  // "gpu 3 … gpu-node-7" with words between them.
  return /^\d{1,3}$/.test(gpu) ? { gpu: `${host}:${gpu}` } : undefined;
}

const since = ({ back }: QuestionParts): Readonly<Record<string, string>> =>
  back === undefined ? {} : { from: back };

/** Average utilization below which a GPU counts as idle. */
const idleShare = 0.05;
const idleWindow = "15m";

const intents: readonly Intent[] = [
  compareIntent,
  jobIntent,
  alertIntent,
  errorIntent,
  whyIntent,
  throttleIntent,
  billIntent,
  eventIntent,
  countIntent,
  jobsIntent,
  ownerIntent,
  readingIntent,
  idleIntent,
  healthIntent,
  listIntent,
];

function compareIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, gpus, hosts, back } = parts;
  if (!has("compare") || isWhole(parts)) return undefined;
  const all = [...gpus, ...hosts];
  const kind = hosts.length === 0 ? "gpus" : "hosts";
  if (gpus.length > 0 && hosts.length > 0) return undefined;
  if (all.length > 1) return { tool: "compare", input: { [kind]: all, ...since(parts) } };
  // One with itself: the same length of time before.
  const [one = ""] = all;
  const length = back === undefined || back === "2d" ? "24h" : back;
  return {
    tool: "compare",
    input: { [kind]: [one, `${one}@-${length}`], from: length },
  };
}

function jobIntent({ has, job }: QuestionParts): MatchedQuestion | undefined {
  if (job === undefined) return undefined;
  return has("why", "health") && !has("energy", "cost")
    ? { tool: "explain", input: { job } }
    : { tool: "show_job", input: { id: job } };
}

function alertIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, fingerprint, alert } = parts;
  if (fingerprint !== undefined) return { tool: "explain", input: { alert: fingerprint } };
  const subject = subjectOf(parts);
  if (alert !== undefined)
    return has("alert", "why")
      ? { tool: "list_alerts", input: { alert, ...subject } }
      : { tool: "runbook", input: { alert } };
  if (!has("alert") || subject === undefined) return undefined;
  return parts.back === undefined
    ? { tool: "list_alerts", input: subject }
    : { tool: "list_events", input: { kind: "alert", ...subject, ...since(parts) } };
}

function errorIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, xid, back = "1d" } = parts;
  if (xid !== undefined)
    return isWhole(parts) && parts.back === undefined
      ? { tool: "runbook", input: { alert: `Xid ${xid}` } }
      : undefined;
  const subject = subjectOf(parts);
  if (subject === undefined) return undefined;
  if (has("xid")) return { tool: "list_events", input: { kind: "xid", ...subject, from: back } };
  const isLink = has("health") && has("nvlink", "pcie", "ecc");
  if (!has("error") && !isLink) return undefined;
  const metrics = errorMetrics.flatMap(([concept, metric]) => (has(concept) ? [metric] : []));
  const chosen =
    metrics.length > 0
      ? metrics
      : ["gpu_ecc_errors_total", "gpu_interconnect_errors_total", "gpu_xid_errors_total"];
  const matchers = deviceMatchers(subject);
  const promql = [...new Set(chosen)].map(
    (metric) => `increase(${metric}${matchers}[${back}]) > 0`,
  );
  return { tool: "query_promql", input: { promql: promql.join(" or ") } };
}

function whyIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const subject = subjectOf(parts);
  if (!parts.has("why") || subject === undefined || isWhole(parts)) return undefined;
  return { tool: "explain", input: { ...subject } };
}

function throttleIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has } = parts;
  const subject = subjectOf(parts);
  if (!has("throttled") || subject === undefined || has("many")) return undefined;
  const reason = has("power")
    ? ['reason=~"power.*"']
    : has("temperature", "heat")
      ? ['reason=~"thermal.*"']
      : [];
  const series = `gpu_throttle_active${deviceMatchers(subject, reason)}`;
  const { back } = parts;
  const promql = `${back === undefined ? series : `max_over_time(${series}[${back}])`} == 1`;
  return { tool: "query_promql", input: { promql } };
}

function billIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, by, count, owner } = parts;
  // Bills are sorted by energy, most first.
  if (has("lowest")) return undefined;
  const isWaste = has("waste") || (has("who") && has("idle"));
  const isEnergy = has("energy", "cost") || (owner !== undefined && has("use"));
  const isMostUsed = has("who") && has("most") && has("use");
  const isGroup = by !== undefined && by !== "host" && by !== "model";
  if (!isWaste && !isEnergy && !isMostUsed && !isGroup) return undefined;
  if (has("memory", "temperature", "utilization", "clock")) return undefined;
  if (by === "host" && isWhole(parts) && has("energy"))
    return {
      tool: "query_promql",
      input: {
        promql: `sum by (host) (increase(gpu_energy_joules_total[${parts.back ?? "1d"}])) / 3.6e6`,
      },
      unit: "kWh",
    };
  if (by !== undefined && !isGroup) return undefined;
  if (!isWhole(parts)) {
    const subject = subjectOf(parts);
    if (subject === undefined || has("cost", "who") || by !== undefined) return undefined;
    const joules = `gpu_energy_joules_total${deviceMatchers(subject)}`;
    return {
      tool: "query_promql",
      input: { promql: `sum(increase(${joules}[${parts.back ?? "1d"}])) / 3.6e6` },
      unit: "kWh",
    };
  }
  const group = by ?? owner?.kind ?? (has("job") && !has("who") ? "job" : "user");
  return {
    tool: "bill_jobs",
    input: { by: group, ...(count && { limit: count }), ...since(parts) },
  };
}

function eventIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const subject = subjectOf(parts);
  if (!parts.has("event", "change") || subject === undefined) return undefined;
  return { tool: "list_events", input: { ...subject, ...since(parts) } };
}

/** "How many": numbers of GPUs in a state. */
function countIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, model, by, back = idleWindow } = parts;
  const subject = subjectOf(parts);
  if (by === "model")
    return { tool: "query_promql", input: { promql: "count by (model) (gpu_info)" }, unit: "GPUs" };
  if (by === "host" && has("gpu") && has("many")) return { tool: "find", input: { kind: "host" } };
  if (!has("many") || subject === undefined || has("job", "who")) return undefined;
  if (has("host") && !has("gpu")) return { tool: "find", input: { kind: "host" } };
  const matchers = deviceMatchers(subject);
  const mean = `avg_over_time(gpu_utilization_ratio${matchers}[${back}])`;
  const counted = has("idle")
    ? `${mean} < ${idleShare}`
    : has("busy", "use", "running")
      ? `${mean} >= ${idleShare}`
      : has("throttled")
        ? `max by (uuid, host) (gpu_throttle_active${matchers}) == 1`
        : undefined;
  if (counted !== undefined)
    return {
      tool: "query_promql",
      input: { promql: `count(${counted}) or vector(0)` },
      unit: "GPUs",
    };
  if (has("health")) return { tool: "gpu_health", input: { ...subject } };
  if (!isWhole(parts)) return { tool: "current_state", input: { ...subject, limit: 100 } };
  return { tool: "find", input: { kind: "gpu", ...(model && { match: model }) } };
}

function jobsIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, hosts, gpus, owner, back } = parts;
  const [host] = hosts;
  const isReading = stateReadings.some(({ concept }) => has(concept));
  const isAsked = has("job", "ended", "ran") || (has("running") && !isReading);
  if (!isAsked && !(has("who") && back !== undefined)) return undefined;
  if (gpus.length > 0 || hosts.length > 1 || owner?.kind === "project") return undefined;
  if (has("why", "health", "can", "where")) return undefined;
  const isNow = has("running", "idle") && back === undefined;
  const state = isNow ? "running" : has("job") && has("ended") ? "ended" : "all";
  return {
    tool: "list_jobs",
    input: {
      state,
      ...(host && { host }),
      ...(owner && { [owner.kind]: owner.name }),
      ...since(parts),
    },
  };
}

/** Who holds GPUs now. */
function ownerIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has } = parts;
  const subject = subjectOf(parts);
  if (!has("who") || subject === undefined || has("most", "lowest", "energy", "cost"))
    return undefined;
  return isWhole(parts)
    ? { tool: "list_jobs", input: { state: "running" } }
    : { tool: "current_state", input: { ...subject, limit: 100 } };
}

function readingIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, back, count, model, owner, by } = parts;
  const subject = subjectOf(parts);
  if (subject === undefined || (by !== undefined && by !== "host")) return undefined;
  const other = otherReadings.find(([concept]) => has(concept));
  if (other !== undefined) {
    const [, metric, scale, unit] = other;
    const promql = `${metric}${deviceMatchers(subject)}${scale}`;
    return { tool: "query_promql", input: { promql, ...(back && { since: back }) }, unit };
  }
  const isUse = has("use") && !has("who");
  const reading =
    stateReadings.find(({ concept }) => has(concept)) ??
    (isUse || has("most", "lowest") ? stateReadings.at(-1) : undefined);
  if (reading === undefined || has("where", "can", "health")) return undefined;
  if (has("idle") && reading.concept !== "memory") return undefined;
  const { metric, whole, labels, sort, unit, scale = "", isPerSensor = false } = reading;
  const series = `${metric}${deviceMatchers(subject, labels)}`;
  const selected = isPerSensor ? `max by (uuid, gpu, host) (${series})` : series;
  if (by === "host")
    return {
      tool: "query_promql",
      input: { promql: `${whole} by (host) (${selected})${scale}`, ...(back && { since: back }) },
      unit,
    };
  if (has("peak") && back !== undefined)
    return {
      tool: "query_promql",
      input: {
        promql: `topk(${count ?? 1}, max by (uuid, gpu, host) (max_over_time(${series}[${back}])))${scale}`,
      },
      unit,
    };
  const isRanked = has("most", "lowest") || count !== undefined;
  // "How much power is used", as against "power of the GPUs".
  const isSum = whole === "sum" && isWhole(parts) && has("use") && !has("gpu");
  if (!isRanked && (back !== undefined || has("average", "total") || isSum)) {
    const aggregate = has("average") ? "avg" : has("total") ? "sum" : whole;
    const promql = `${aggregate}(${selected})${scale}`;
    return { tool: "query_promql", input: { promql, ...(back && { since: back }) }, unit };
  }
  const order =
    has("lowest") || (has("idle") && reading.concept === "memory") ? "lowest" : "highest";
  return {
    tool: "current_state",
    input: {
      ...subject,
      ...(model && { model }),
      ...(owner && { owner: owner.name }),
      sort,
      ...((isRanked || order === "lowest") && { order }),
      ...(back && { window: back }),
      limit: count ?? (isRanked ? (parts.isPlural ? 10 : 1) : 20),
    },
  };
}

function idleIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, back, model } = parts;
  const subject = subjectOf(parts);
  const asksPlace = isWhole(parts) && (has("host") || has("where"));
  if (subject === undefined || !(has("idle") || (has("where") && has("job", "running"))))
    return undefined;
  if (asksPlace) {
    const idle = `avg_over_time(gpu_utilization_ratio[${back ?? idleWindow}]) < bool ${idleShare}`;
    return { tool: "query_promql", input: { promql: `sum by (host) (${idle}) > 0` }, unit: "GPUs" };
  }
  return {
    tool: "current_state",
    input: {
      ...subject,
      ...(model && { model }),
      sort: "utilization",
      order: "lowest",
      window: back ?? idleWindow,
      limit: 20,
    },
  };
}

function healthIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has } = parts;
  const subject = subjectOf(parts);
  if (has("job") && isWhole(parts)) return undefined;
  const asks = has("health") || (has("can") && has("use", "running") && has("job"));
  if (!asks || subject === undefined) return undefined;
  return parts.back === undefined
    ? { tool: "gpu_health", input: { ...subject } }
    : { tool: "list_events", input: { ...subject, ...since(parts) } };
}

/** Lists: drivers, models, hosts, GPUs of a model or a host, and a name on its own. */
function listIntent(parts: QuestionParts): MatchedQuestion | undefined {
  const { has, model } = parts;
  const subject = subjectOf(parts);
  if (subject === undefined) return undefined;
  const info = `gpu_info${deviceMatchers(subject)}`;
  if (has("driver"))
    return { tool: "query_promql", input: { promql: `count by (driver) (${info})` }, unit: "GPUs" };
  if (has("model"))
    return { tool: "query_promql", input: { promql: `count by (model) (${info})` }, unit: "GPUs" };
  if (!isWhole(parts)) return { tool: "current_state", input: { ...subject, limit: 20 } };
  if (model !== undefined) return { tool: "find", input: { kind: "gpu", match: model } };
  if (has("host")) return { tool: "find", input: { kind: "host" } };
  return has("gpu") ? { tool: "find", input: { kind: "gpu" } } : undefined;
}
