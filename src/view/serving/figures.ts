/** The figures of an LLM server with their units, and the shape of the response. Shared by hub, command and page. */
import * as v from "valibot";

export type FigureUnit =
  | "tokens/s"
  | "requests/s"
  | "per minute"
  | "requests"
  | "ratio"
  | "seconds"
  | "watts"
  | "tokens/J"
  | "J/token"
  | "per million tokens";

interface FigureSpec {
  readonly unit: FigureUnit;
  readonly label: string;
  readonly help: string;
}

export const figureSpecs = {
  promptTokens: { unit: "tokens/s", label: "Prompt", help: "Prompt tokens processed." },
  generatedTokens: { unit: "tokens/s", label: "Generated", help: "Tokens generated." },
  requests: { unit: "requests/s", label: "Requests", help: "Requests finished." },
  failedRequests: {
    unit: "requests/s",
    label: "Failed",
    help: "Requests that failed or were aborted.",
  },
  running: { unit: "requests", label: "Running", help: "Requests being computed." },
  waiting: { unit: "requests", label: "Queue", help: "Requests that wait to be computed." },
  kvCache: { unit: "ratio", label: "KV cache", help: "Part of the KV cache in use." },
  preemptions: {
    unit: "per minute",
    label: "Preemptions",
    help: "Running requests put back to make room; their work is done again.",
  },
  timeToFirstTokenP50: {
    unit: "seconds",
    label: "TTFT p50",
    help: "Time to the first token, median.",
  },
  timeToFirstTokenP99: {
    unit: "seconds",
    label: "TTFT p99",
    help: "Time to the first token, 99th percentile.",
  },
  interTokenP50: { unit: "seconds", label: "ITL p50", help: "Time between two tokens, median." },
  interTokenP99: {
    unit: "seconds",
    label: "ITL p99",
    help: "Time between two tokens, 99th percentile.",
  },
  requestDurationP50: {
    unit: "seconds",
    label: "Duration p50",
    help: "Duration of a request, median.",
  },
  withinTimeToFirstToken: {
    unit: "ratio",
    label: "TTFT in SLO",
    help: "Part of the first tokens within the SLO.",
  },
  withinInterToken: {
    unit: "ratio",
    label: "ITL in SLO",
    help: "Part of the gaps between tokens within the SLO.",
  },
  withinSlo: {
    unit: "ratio",
    label: "In SLO",
    help: "At least this part is within both limits: histograms do not tell which requests miss which.",
  },
  goodput: { unit: "requests/s", label: "Goodput", help: "Requests within the SLO, at least." },
  power: { unit: "watts", label: "Power", help: "Mean power of its GPUs, idle ones included." },
  tokensPerJoule: {
    unit: "tokens/J",
    label: "Tokens/J",
    help: "Prompt and generated tokens per joule of its GPUs.",
  },
  generatedPerJoule: {
    unit: "tokens/J",
    label: "Generated/J",
    help: "Generated tokens per joule of its GPUs.",
  },
  generatedPerJouleAtSlo: {
    unit: "tokens/J",
    label: "Generated/J at SLO",
    help: "Generated tokens within the SLO, at least, per joule of its GPUs.",
  },
  joulesPerGenerated: {
    unit: "J/token",
    label: "J/token",
    help: "Joules of its GPUs per generated token, its prompt's share included.",
  },
  costPerMillion: {
    unit: "per million tokens",
    label: "Cost/M tokens",
    help: "Price of the GPUs' energy for a million generated tokens.",
  },
} as const satisfies Readonly<Record<string, FigureSpec>>;

export type FigureName = keyof typeof figureSpecs;
export const figureNames = Object.keys(figureSpecs) as readonly FigureName[];

/** A value, or the reason for its absence. */
export type ServingFigure = { readonly value: number } | { readonly absent: string };

const figure = v.union([v.object({ value: v.number() }), v.object({ absent: v.string() })]);
const estimate = v.object({ value: v.number(), standardError: v.number() });

const figures = v.object(
  Object.fromEntries(figureNames.map((name) => [name, figure])) as Record<
    FigureName,
    typeof figure
  >,
);

/** How a server's GPUs were found, the most reliable first. */
const gpuMatches = ["pod", "workload", "port", "container", "host"] as const;

const servingGpus = v.union([
  v.object({
    by: v.picklist(gpuMatches),
    list: v.array(
      v.object({ uuid: v.string(), host: v.string(), index: v.string(), model: v.string() }),
    ),
    /** Number of other servers that share one of these GPUs. */
    sharedWith: v.number(),
  }),
  v.object({ absent: v.string() }),
]);

const energySplit = v.union([
  v.object({
    joulesPerPromptToken: estimate,
    joulesPerGeneratedToken: estimate,
    idleWatts: estimate,
    prefillRatio: estimate,
    intervals: v.number(),
  }),
  v.object({ absent: v.string() }),
]);

const replicaSchema = v.object({
  id: v.string(),
  server: v.string(),
  program: v.string(),
  role: v.picklist(["engine", "router"]),
  job: v.optional(v.string()),
  instance: v.string(),
  host: v.string(),
  model: v.optional(v.string()),
  /** Time of the last scrape with its metrics. */
  lastMs: v.number(),
  gpus: servingGpus,
  figures,
  energySplit,
  problems: v.array(v.string()),
});

export const servingSchema = v.object({
  timeMs: v.number(),
  windowMs: v.number(),
  slo: v.object({ timeToFirstTokenSeconds: v.number(), interTokenSeconds: v.number() }),
  currency: v.optional(v.string()),
  replicas: v.array(replicaSchema),
  /** Number of servers beyond the limit of one response. */
  leftOut: v.number(),
});

export type ServingReplica = v.InferOutput<typeof replicaSchema>;
export type ServingGpus = v.InferOutput<typeof servingGpus>;
export type ServingGpu = Extract<ServingGpus, { list: unknown }>["list"][number];
export type Serving = v.InferOutput<typeof servingSchema>;

export const defaultSlo = { timeToFirstTokenSeconds: 1, interTokenSeconds: 0.1 } as const;
export const defaultWindowMs = 300_000;
