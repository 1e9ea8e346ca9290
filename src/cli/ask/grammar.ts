/** The questions `gpulse ask` understands: each pattern names a tool and its arguments. Pure; order decides between two that match. */

export interface MatchedQuestion {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

interface Question {
  /** What people may type, for the list of what can be asked. */
  readonly example: string;
  readonly pattern: RegExp;
  readonly match: (found: Readonly<Record<string, string | undefined>>) => MatchedQuestion;
}

const period = String.raw`(?: (?:in |over |during |for |since )?(?:the )?(?<period>today|yesterday|(?:last|past) (?:\d{1,4} )?(?:minute|hour|day|week|month)s?|this (?:week|month)|\d{1,4}(?:m|h|d|w)))?`;
const subject = String.raw`(?:(?<kind>gpu|host|node|machine|server|job|alert) )?(?<subject>\S{1,200})`;

const days: Readonly<Record<string, number>> = { minute: 0, hour: 0, day: 1, week: 7, month: 30 };

/** A duration back from now; undefined where the question names none. */
export function periodOf(words: string | undefined): string | undefined {
  if (words === undefined) return undefined;
  if (/^\d/.test(words)) return words;
  if (words === "today") return "1d";
  if (words === "yesterday") return "2d";
  const [, count = "1", unit = "day"] =
    /(?:last|past|this) (?:(\d+) )?(minute|hour|day|week|month)/.exec(words) ?? [];
  if (unit === "minute") return `${count}m`;
  return unit === "hour" ? `${count}h` : `${Number(count) * (days[unit] ?? 1)}d`;
}

/** A subject without its kind: an UUID or HOST:INDEX is a GPU, digits are a job, anything else is a host. */
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
      /^(?:(?:what|which) (?:is|are) )?(?:the )?(?:(?<count>\d{1,3}) )?(?<sort>hottest|warmest|coolest|coldest|busiest|idlest|hungriest|fullest|emptiest|slowest|fastest|(?:most|least|highest|lowest) (?:free )?(?:used|utilized|loaded|busy|power|memory|clock))(?: (?<many>gpus?|cards?))?(?: (?:on|of|in) (?:host |node )?(?<host>\S{1,200}))?$/,
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
    pattern:
      /^(?:(?:which|what) )?(?:gpus?|cards?) (?:are |is )?(?:idle|unused|free|not used|doing nothing)(?: (?:on|of|in) (?:host |node )?(?<host>\S{1,200}))?$|^idle (?:gpus?|cards?)(?: (?:on|of|in) (?:host |node )?(?<host2>\S{1,200}))?$/,
    match: ({ host, host2 }) => {
      const on = host ?? host2;
      return {
        tool: "current_state",
        input: {
          sort: "utilization",
          order: "lowest",
          window: "15m",
          limit: 20,
          ...(on && { host: on }),
        },
      };
    },
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
    example: "why is gpu GPU-1f2e3d4c slow",
    pattern: new RegExp(
      `^(?:why (?:is|was|are)|explain|what is wrong with|what happened to) (?:the )?${subject}(?: (?:so )?(?:slow|hot|idle|throttled|throttling|failing|down|broken|bad|loud))?(?: (?:at|since) (?<time>\\S{1,40}))?$`,
    ),
    match: ({ kind, subject: name = "", time }) => ({
      tool: "explain",
      input: { ...subjectInput(kind, name), ...(time && { time }) },
    }),
  },
  {
    example: "energy of job 4711",
    pattern:
      /^(?:(?:what is |show )?(?:the )?(?:energy|power use|cost|efficiency|gpu hours|co2) of |show |how efficient (?:is|was) )?job (?<id>\S{1,190})(?: .{0,60})?$/,
    match: ({ id }) => ({ tool: "show_job", input: { id } }),
  },
  {
    example: "energy by user last week",
    pattern: new RegExp(
      `^(?:what is |show )?(?:the )?(?:energy|cost|bill|usage|gpu hours|co2)(?: (?:by|per) (?<by>user|account|project|day|job|kind))?${period}$`,
    ),
    match: ({ by = "user", period: words }) => ({
      tool: "bill_jobs",
      input: { by, ...from(words) },
    }),
  },
  {
    example: "who wastes energy last week",
    pattern: new RegExp(
      `^who (?:wastes|wasted|uses most|used most)(?: (?:energy|gpus?|power))?${period}$`,
    ),
    match: ({ period: words }) => ({ tool: "bill_jobs", input: { by: "user", ...from(words) } }),
  },
  {
    example: "running jobs",
    pattern: new RegExp(
      `^(?:which |what |show |list )?(?:the )?(?:(?<state>running|ended|finished|all) )?jobs(?: (?:of|by) (?:user )?(?<user>\\S{1,200}?))??(?: on (?:host |node )?(?<host>\\S{1,200}?))??${period}$`,
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
      `^(?:is|are) ${subject} (?:healthy|fit|ok|okay|fine|broken)$|^health(?: of ${subject.replaceAll("<kind>", "<kind2>").replaceAll("<subject>", "<subject2>")})?$`,
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
      /^(?:which |what )?(?:gpus?|hosts?|nodes?) (?:are |is )?(?:unhealthy|broken|bad|degraded|failing|lost)$|^(?:unhealthy|broken|failing|lost) (?:gpus?|hosts?|nodes?)$/,
    match: () => ({ tool: "gpu_health", input: {} }),
  },
  {
    example: "alerts",
    pattern:
      /^(?:(?:what|which|show|list|active|firing) )*(?:is firing|alerts?(?: (?:are )?(?:active|firing|now))?)(?: (?:on|of) (?:host |node )?(?<host>\S{1,200}))?$/,
    match: ({ host }) => ({ tool: "list_alerts", input: { ...(host && { host }) } }),
  },
  {
    example: "what happened on gpu-node-3 today",
    pattern: new RegExp(
      `^(?:what happened|what changed|events|timeline)(?: (?:on|of|to) (?:host |node )?(?<host>(?!the\\b)\\S{1,200}?))??${period}$`,
    ),
    match: ({ host, period: words }) => ({
      tool: "list_events",
      input: { ...(host && { host }), ...from(words) },
    }),
  },
  {
    example: "runbook GpuHot",
    pattern: /^(?:runbook|what to do about|how to fix)(?: (?:for |of )?(?<alert>\S{1,200}))?$/,
    match: ({ alert }) => ({ tool: "runbook", input: { ...(alert && { alert }) } }),
  },
  {
    example: "metrics about pcie",
    pattern: /^(?:which |what )?metrics?(?: (?:about|for|of|with) (?<words>.{1,100}))?$/,
    match: ({ words }) => ({ tool: "find_metrics", input: { ...(words && { match: words }) } }),
  },
  {
    example: "runs",
    pattern: /^(?:show |list )?(?:benchmark )?runs$/,
    match: () => ({ tool: "list_runs", input: {} }),
  },
  {
    example: "compare gpu-node-1 gpu-node-2",
    pattern: /^compare (?<names>\S{1,200}(?:(?: and| with| to)? \S{1,200}){1,7})$/,
    match: ({ names = "" }) => {
      const given = names.split(/ (?:(?:and|with|to) )?/);
      const isGpu = given.every((one) => "gpu" in subjectInput(undefined, one));
      return { tool: "compare", input: isGpu ? { gpus: given } : { hosts: given } };
    },
  },
  {
    example: "find H200",
    pattern:
      /^(?:find|where is|show|list)(?: (?<kind>gpu|host|job|node)s?)?(?: (?:named |with |of )?(?<match>\S{1,200}))?$/,
    match: ({ kind = "gpu", match }) => ({
      tool: "find",
      input: { kind: kind === "node" ? "host" : kind, ...(match && { match }) },
    }),
  },
];

const from = (words: string | undefined): Readonly<Record<string, string>> => {
  const back = periodOf(words);
  return back === undefined ? {} : { from: back };
};

export const examples: readonly string[] = questions.map(({ example }) => example);

/** Undefined where no pattern fits the whole question. Names keep their spelling; all other words are matched in any case. */
export function matchQuestion(question: string): MatchedQuestion | undefined {
  const words = question
    .trim()
    .replaceAll(/\s+/g, " ")
    .replace(/[?!.]+$/, "");
  if (words.length > 500) return undefined;
  for (const { pattern, match } of questions) {
    const found = new RegExp(pattern.source, "i").exec(words);
    if (found === null) continue;
    const groups = Object.fromEntries(
      Object.entries(found.groups ?? {}).map(([name, text]) => [
        name,
        keepsCase.has(name) ? text : text?.toLowerCase(),
      ]),
    );
    return match(groups);
  }
  return undefined;
}

/** Groups that hold names. */
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
