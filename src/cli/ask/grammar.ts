/** The grammar of `gpulse ask`: each pattern maps to a tool and its arguments. Pure; the first match wins. */
import { promqlString } from "../../view/tools/quote.ts";
import { freeFormExamples, matchFreeForm } from "./free-form.ts";
import { periodOf, periodWords } from "./period.ts";
import { conceptsOf } from "./words.ts";

export interface MatchedQuestion {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The unit of the values that a query returns. */
  readonly unit?: string;
}

interface Question {
  /** An example question, for the list of supported questions. */
  readonly example: string;
  readonly pattern: RegExp;
  readonly match: (found: Readonly<Record<string, string | undefined>>) => MatchedQuestion;
}

const period = `(?: (?:in |over |during |for |since )?(?:the )?(?<period>${periodWords}))?`;
const subject = String.raw`(?:(?<kind>gpu|host|node|machine|server|job|alert) )?(?<subject>\S{1,200})`;

const onHost = String.raw`(?: (?:on|of|in|at) (?:host |node |machine )?(?<host>\S{1,200}))?`;

/** A subject without its kind: a UUID or HOST:INDEX is a GPU, digits are a job, anything else is a host. */
function subjectInput(kind: string | undefined, name: string): Readonly<Record<string, string>> {
  if (kind === "gpu") return { gpu: name };
  if (kind === "job") return { job: name };
  if (kind === "alert") return { alert: name };
  if (kind !== undefined) return { host: name };
  if (/^(?:GPU|MIG|SIM)-[\da-f]{4}|:\d{1,3}$/i.test(name)) return { gpu: name };
  return /^\d+(?:_\d+)?$/.test(name) || name.includes("@") ? { job: name } : { host: name };
}

const sortWords: readonly (readonly [RegExp, string, "highest" | "lowest"])[] = [
  [/^(?:hottest|warmest)/, "temperature", "highest"],
  [/^(?:coolest|coldest)/, "temperature", "lowest"],
  [/^(?:busiest|most (?:used|utilized|loaded))/, "utilization", "highest"],
  [/^(?:idlest|least (?:used|busy|utilized|loaded))/, "utilization", "lowest"],
  [/^(?:hungriest|most power|highest power)/, "power", "highest"],
  [/^(?:least power|lowest power)/, "power", "lowest"],
  [/^(?:fullest|most memory)/, "memory", "highest"],
  [/^(?:emptiest|least memory|most free memory)/, "memory", "lowest"],
  [/^(?:slowest|lowest clock)/, "clock", "lowest"],
  [/^(?:fastest|highest clock)/, "clock", "highest"],
];

const questions: readonly Question[] = [
  {
    example: "hottest gpu",
    pattern:
      /^(?:(?:what|which) (?:(?:gpus?|cards?) )?(?:is |are |runs? )?|show |list )?(?:the )?(?:(?:top )?(?<count>\d{1,3}) )?(?<sort>hottest|warmest|coolest|coldest|busiest|idlest|hungriest|fullest|emptiest|slowest|fastest|(?:most|least|highest|lowest) (?:free )?(?:used|utilized|loaded|busy|power|memory|clock))(?: (?<many>gpus?|cards?))?(?: (?:on|of|in) (?:host |node )?(?<host>\S{1,200}))?$/,
    match: ({ count, sort = "", many, host }) => {
      const [, key = "utilization", order = "highest"] =
        sortWords.find(([pattern]) => pattern.test(sort)) ?? [];
      const limit = count === undefined ? (many?.endsWith("s") === true ? 10 : 1) : Number(count);
      return {
        tool: "current_state",
        input: {
          sort: key,
          order,
          limit: Math.min(100, Math.max(1, limit)),
          ...(host && { host }),
        },
      };
    },
  },
  {
    example: "which gpus are idle",
    pattern: new RegExp(
      `^(?:(?:(?:which|what) )?(?:gpus?|cards?) (?:are |is |were )?(?:idle|unused|free|available|not used|doing nothing)|(?:show |list )?(?:idle|free|unused|available) (?:gpus?|cards?))${onHost.replace("?<host>\\S{1,200}", "?<host>\\S{1,200}?")}${period}$`,
    ),
    match: ({ host, period: words }) => ({
      tool: "current_state",
      input: {
        sort: "utilization",
        order: "lowest",
        window: periodOf(words) ?? "15m",
        limit: 20,
        ...(host && { host }),
      },
    }),
  },
  {
    example: "which gpus have free memory",
    pattern: new RegExp(
      `^(?:(?:which|what) )?(?:gpus?|cards?) (?:have |has |with )(?:any |the most )?(?:free|unused) memory${onHost}$`,
    ),
    match: ({ host }) => ({
      tool: "current_state",
      input: { sort: "memory", order: "lowest", limit: 20, ...(host && { host }) },
    }),
  },
  {
    example: "which gpus are too hot",
    pattern: new RegExp(
      `^(?:(?:which|what|are any|is any) )?(?:gpus?|cards?) (?:are |is )?(?:too )?(?<state>hot|overheating|throttled|throttling|slowed down)${onHost}$`,
    ),
    match: ({ state = "", host }) =>
      state.startsWith("thrott") || state === "slowed down"
        ? {
            tool: "query_promql",
            input: { promql: `gpu_throttle_active${hostMatcher(host)} == 1` },
          }
        : {
            tool: "current_state",
            input: { sort: "temperature", order: "highest", limit: 10, ...(host && { host }) },
          },
  },
  {
    example: "how hot is gpu-node-3:4",
    pattern: new RegExp(
      `^(?:how (?<much>hot|busy|full|loaded|fast) (?:is|are) |(?:what is |show )?(?:the )?(?<reading>temperature|utilization|usage|memory|power|clock|state|status)s? of |how much (?<amount>power|memory) (?:does|is used by|is free on|is used on) )(?:the )?${subject}(?: gpus)?(?: (?:draw|use|have))?$`,
    ),
    match: ({ much, reading, amount, kind, subject: name = "" }) => {
      const word = much ?? reading ?? amount ?? "";
      const of = /^(?:all|every)$|^gpus?$/i.test(name) ? {} : subjectInput(kind, name);
      if ("job" in of) return { tool: "show_job", input: { id: of["job"] } };
      return {
        tool: "current_state",
        input: { ...of, sort: readings[word] ?? "utilization", limit: 20 },
      };
    },
  },
  {
    example: "how many gpus",
    pattern:
      /^how many (?<kind>gpu|card|host|node|machine)s?(?: (?:are there|do we have|are up|report))?$|^(?:show |list )?(?:the )?(?:gpu |fleet )?(?:status|overview|inventory)$/,
    match: ({ kind = "gpu" }) => ({
      tool: "find",
      input: { kind: /^(?:gpu|card)$/.test(kind) ? "gpu" : "host" },
    }),
  },
  {
    example: "total power",
    pattern: new RegExp(
      `^(?:what is |show |how much )?(?:the |our )?(?:total )?power(?: (?:draw|use|do we (?:draw|use)))?${onHost}$`,
    ),
    match: ({ host }) => ({
      tool: "query_promql",
      input: { promql: `sum(gpu_power_watts${hostMatcher(host)})` },
      unit: "W",
    }),
  },
  {
    example: "gpus with ecc errors",
    pattern: new RegExp(
      `^(?:(?:which|what|show|list|are there|were there) )?(?:any )?(?:gpus? (?:have|has|had|with) )?(?<error>ecc|memory|xid|pcie|nvlink) errors?${onHost.replace("(?:on|of|in|at)", "(?:on|of|at)")}${period}$`,
    ),
    match: ({ error = "", host, period: words }) => {
      const back = periodOf(words) ?? "1d";
      if (error === "xid")
        return { tool: "list_events", input: { kind: "xid", ...(host && { host }), from: back } };
      return {
        tool: "query_promql",
        input: {
          promql: `increase(${errorMetrics[error] ?? "gpu_ecc_errors_total"}${hostMatcher(host)}[${back}]) > 0`,
        },
      };
    },
  },
  {
    example: "what is running on gpu-node-3",
    pattern: new RegExp(
      `^(?:what(?: is|'s)? |who is |(?:which|how many) jobs are )(?:running|runs)(?: jobs)?(?: on (?:host |node )?(?<host>\\S{1,200}))?$|^what (?:jobs )?(?:is|does) (?:user )?(?<user>\\S{1,200}) (?:running|run|using)$|^who (?:uses|is using|is hogging|hogs|holds|has) (?:all )?(?:the |our )?(?:gpus|cards|cluster|fleet)$`,
    ),
    match: ({ host, user }) => ({
      tool: "list_jobs",
      input: { state: "running", ...(host && { host }), ...(user && { user }) },
    }),
  },
  {
    example: "who used gpu-node-3 yesterday",
    pattern: new RegExp(
      `^who (?:used|ran on|was on) (?:host |node )?(?<host>(?!most\\b|the\\b)\\S{1,200}?)${period}$`,
    ),
    match: ({ host, period: words }) => ({
      tool: "list_jobs",
      input: { state: "all", host, ...from(words) },
    }),
  },
  {
    example: "who uses gpu-node-3",
    pattern: new RegExp(`^who (?:uses|is using|is on|owns|holds|has|runs on) ${subject}$`),
    match: ({ kind, subject: name = "" }) => {
      const input = subjectInput(kind, name);
      return "job" in input
        ? { tool: "show_job", input: { id: input["job"] } }
        : { tool: "current_state", input: { ...input, limit: 100 } };
    },
  },
  {
    example: "why did job 4711 fail",
    pattern:
      /^why (?:did|does|has) (?:the )?job (?<id>\S{1,190}) (?:fail|failed|crash|crashed|stop|stopped|die|end|take so long|run so slowly)$/,
    match: ({ id }) => ({ tool: "explain", input: { job: id } }),
  },
  {
    example: "why is gpu 3 on gpu-node-7 slow",
    pattern: new RegExp(
      `^(?:why (?:is|was|are)|explain|(?:what|is anything|is something) (?:is )?wrong with|what happened to) (?:the )?(?:gpus (?:of|on) )?${subject}(?: (?:so |too )?(?:slow|hot|idle|throttled|throttling|failing|down|lost|broken|bad|loud|full))?(?: (?:at|since) (?<time>\\S{1,40}))?$`,
    ),
    match: ({ kind, subject: name = "", time }) => ({
      tool: "explain",
      input: { ...subjectInput(kind, name), ...(time && { time }) },
    }),
  },
  {
    example: "energy of job 4711",
    pattern:
      /^(?:(?:what is |show )?(?:the )?(?:energy|power use|cost|efficiency|gpu hours|co2) of |show |how efficient (?:is|was) |how long (?:did|has) |what (?:did|does|is) (?:the )?|how much (?:energy )?(?:did|does) )?(?:the )?job (?<id>\S{1,190})(?: .{0,60})?$/,
    match: ({ id }) => ({ tool: "show_job", input: { id } }),
  },
  {
    example: "energy by user last week",
    pattern: new RegExp(
      `^(?:what is |show |how much )?(?:the |our |total )?(?:energy|electricity|cost|bill|usage|gpu hours|co2|money)(?: (?:did|do) we (?:use|used|spend|need|emit))?(?: (?:by|per) (?<by>user|account|project|day|job|kind))?${period}$`,
    ),
    match: ({ by = "user", period: words }) => ({
      tool: "bill_jobs",
      input: { by, ...from(words) },
    }),
  },
  {
    example: "top users last week",
    pattern: new RegExp(
      `^(?:which |what |show |list )?(?:the )?(?:top|biggest|most expensive)(?: (?<count>\\d{1,3}))? (?<by>user|account|project|job)s?(?: by (?:energy|electricity|cost|usage|gpu hours))?${period}$`,
    ),
    match: ({ by = "user", count, period: words }) => ({
      tool: "bill_jobs",
      input: {
        by,
        ...(count && { limit: Math.min(100, Math.max(1, Number(count))) }),
        ...from(words),
      },
    }),
  },
  {
    example: "who wastes energy last week",
    pattern: new RegExp(
      `^(?:who|which (?<by>user|account|project|job)s?) (?:wastes?|wasted|is wasting|uses?(?: the)? most|used(?: the)? most|is using the most)(?: the most)?(?: (?:energy|electricity|gpus?|power|gpu hours))?${period}$`,
    ),
    match: ({ by = "user", period: words }) => ({
      tool: "bill_jobs",
      input: { by, ...from(words) },
    }),
  },
  {
    example: "running jobs",
    pattern: new RegExp(
      `^(?:which |what |show |list )?(?:me )?(?:the )?(?:(?<state>running|ended|finished|all) )?jobs(?: (?:of|by) (?:user )?(?<user>\\S{1,200}?))??(?: on (?:host |node )?(?<host>\\S{1,200}?))??${period}$`,
    ),
    match: ({ state = "all", user, host, period: words }) => ({
      tool: "list_jobs",
      input: {
        state: state === "finished" ? "ended" : state,
        ...(user && { user }),
        ...(host && { host }),
        ...from(words),
      },
    }),
  },
  {
    example: "is gpu-node-3 healthy",
    pattern: new RegExp(
      `^(?:is|are) ${subject} (?:healthy|fit|ok|okay|fine|broken|down|up|alive)$|^health(?: of ${subject.replaceAll("<kind>", "<kind2>").replaceAll("<subject>", "<subject2>")})?$`,
    ),
    match: ({ kind, kind2, subject: name, subject2 }) => {
      const named = name ?? subject2;
      return {
        tool: "gpu_health",
        input: named === undefined ? {} : subjectInput(kind ?? kind2, named),
      };
    },
  },
  {
    example: "which gpus are unhealthy",
    pattern:
      /^(?:which |what )?(?:gpus?|hosts?|nodes?) (?:are |is )?(?:unhealthy|broken|bad|degraded|failing|lost|down|dead|offline|unreachable)$|^(?:unhealthy|broken|failing|lost) (?:gpus?|hosts?|nodes?)$|^(?:is|are) (?:the |our )?(?:fleet|cluster|gpus) (?:healthy|fit|ok|okay|fine)$/,
    match: () => ({ tool: "gpu_health", input: {} }),
  },
  {
    example: "alerts",
    pattern:
      /^(?:(?:what|which|show|list|me|active|firing|open|current|are there|is there|any|the) )*(?:is firing|alerts?(?: (?:are |is )?(?:active|firing|open))?)(?: (?:on|of|for) (?:host |node )?(?<host>\S{1,200}))?$/,
    match: ({ host }) => ({ tool: "list_alerts", input: { ...(host && { host }) } }),
  },
  {
    example: "what happened on gpu-node-3 today",
    pattern: new RegExp(
      `^(?:(?:show|list) )?(?:the )?(?:what happened|what changed|did anything (?:change|happen)|events|timeline)(?: (?:on|of|to) (?:host |node )?(?<host>(?!the\\b)\\S{1,200}?))??${period}$`,
    ),
    match: ({ host, period: words }) => ({
      tool: "list_events",
      input: { ...(host && { host }), ...from(words) },
    }),
  },
  {
    example: "runbook GpuHot",
    pattern:
      /^(?:runbook|what to do about|what does|what is|how (?:to|do i|can i) (?:fix|resolve))(?: (?:for |of )?(?<alert>(?:Gpu|Gpulse|Cpu|Host|Node)[A-Z]\S{1,200}|(?<=runbook |about |for |of |fix |resolve )\S{1,200}))?(?: mean)?$|^runbook$/,
    match: ({ alert }) => ({ tool: "runbook", input: { ...(alert && { alert }) } }),
  },
  {
    example: "metrics about pcie",
    pattern:
      /^(?:which |what )?metrics?(?: (?:are there )?(?:about|for|of|with) (?<words>.{1,100}))?$|^(?:what is|what does|explain metric) (?<metric>(?:gpu|host|gpulse|ml)_\w{1,100})(?: mean)?$/,
    match: ({ words, metric }) => {
      const wanted = words ?? metric;
      return { tool: "find_metrics", input: { ...(wanted && { match: wanted }) } };
    },
  },
  {
    example: "runs",
    pattern: /^(?:show |list )?(?:benchmark )?runs$/,
    match: () => ({ tool: "list_runs", input: {} }),
  },
  {
    example: "compare gpu-node-1 gpu-node-2",
    pattern: new RegExp(
      `^compare (?<names>\\S{1,200}(?:(?: and| with| to| vs\\.?| versus)? \\S{1,200}){1,7}?)${period}$`,
    ),
    match: ({ names = "", period: words }) => {
      const given = names.split(/ (?:(?:and|with|to|vs\.?|versus) )?/i);
      const isGpu = given.every((one) => "gpu" in subjectInput(undefined, one));
      return {
        tool: "compare",
        input: { ...(isGpu ? { gpus: given } : { hosts: given }), ...from(words) },
      };
    },
  },
  {
    example: "find H200",
    pattern:
      /^(?:find|where is|show|list)(?: all)?(?: (?<kind>gpu|host|job|node)s?)?(?: (?:named |with |of )?(?<match>(?!#?\d{1,3}$)\S{1,200}))?$/,
    match: ({ kind = "gpu", match }) => ({
      tool: "find",
      input: { kind: kind === "node" ? "host" : kind, ...(match && { match }) },
    }),
  },
];

/** The metric that a word sorts by. */
const readings: Readonly<Record<string, string>> = {
  hot: "temperature",
  temperature: "temperature",
  full: "memory",
  memory: "memory",
  power: "power",
  fast: "clock",
  clock: "clock",
};

const errorMetrics: Readonly<Record<string, string>> = {
  ecc: "gpu_ecc_errors_total",
  memory: "gpu_ecc_errors_total",
  pcie: "gpu_pcie_replays_total",
  nvlink: "gpu_interconnect_errors_total",
};

const hostMatcher = (host: string | undefined): string =>
  host === undefined ? "" : `{host=${promqlString(host)}}`;

const from = (words: string | undefined): Readonly<Record<string, string>> => {
  const back = periodOf(words);
  return back === undefined ? {} : { from: back };
};

export const examples: readonly string[] = [
  ...questions.map(({ example }) => example),
  ...freeFormExamples,
];

/** Returns undefined if neither a pattern nor the free form covers the whole question. Names keep their case; all other words match in any case. */
export function matchQuestion(question: string): MatchedQuestion | undefined {
  const words = question
    .trim()
    .replaceAll(/\s+/g, " ")
    .replace(/[?!.]+$/, "")
    .replace(/^(?:please |can you (?:tell|show) me |tell me |show me )/i, "")
    .replace(/^(what|who)'s /i, "$1 is ")
    .replace(/ (?:right now|now|currently|at the moment)$/i, "")
    .replace(/\bgpu (\d{1,3}) (?:on|of|in) (?:host |node )?(\S{1,200})/i, "$2:$1");
  if (words.length > 500) return undefined;
  for (const { pattern, match } of questions) {
    const found = new RegExp(pattern.source, "i").exec(words);
    if (found === null || hasWordForName(found.groups ?? {})) continue;
    const groups = Object.fromEntries(
      Object.entries(found.groups ?? {}).map(([name, text]) => [
        name,
        keepsCase.has(name) ? text : text?.toLowerCase(),
      ]),
    );
    return match(groups);
  }
  return matchFreeForm(words);
}

/** True if a word of the vocabulary is where a name belongs, as in "how hot are my gpus" or "is everything ok". */
const hasWordForName = ({
  kind,
  subject: name,
  kind2,
  subject2,
  host,
  names,
}: Readonly<Record<string, string | undefined>>): boolean =>
  [kind === undefined ? name : undefined, kind2 === undefined ? subject2 : undefined, host]
    .concat(names?.split(" ").filter((word) => !/^(?:and|with|to)$/i.test(word)))
    .some((word) => word !== undefined && (conceptsOf(word) !== undefined || noName.test(word)));

/** Words that name no host or GPU, and are not in the vocabulary. */
const noName = new RegExp(`^(?:training|inference|work|${periodWords})$`, "i");

/** Capture groups that hold names. */
const keepsCase = new Set([
  "subject",
  "subject2",
  "host",
  "host2",
  "id",
  "user",
  "alert",
  "names",
  "match",
  "time",
]);
