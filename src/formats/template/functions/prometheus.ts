/**
 * The functions of Prometheus's alert templates. `query` cannot wait inside a template: the caller runs a missing query, and then
 * runs the template again with its result.
 */
import { parseDurationMs } from "../../../config/duration.ts";
import { type Functions, itemsOf } from "../builtins.ts";
import { TemplateError } from "../lex.ts";
import { goDuration, goTime } from "../time.ts";
import { GoMap, type GoObject, isObject, printValue, type TemplateValue } from "../value.ts";
import {
  floatOf,
  humanize,
  humanize1024,
  humanizeDuration,
  humanizePercentage,
  humanizeTimestamp,
} from "./humanize.ts";
import { textArg, textFunctions } from "./text.ts";

/** One sample of a query result. */
export interface QuerySample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** Thrown by `query` if its result is missing; the caller runs the query, then the template again. */
export class NeedsQuery extends Error {
  readonly query: string;

  constructor(query: string) {
    super(`needs the answer to ${query}`);
    this.query = query;
  }
}

export interface PrometheusContext {
  readonly answers: ReadonlyMap<string, readonly QuerySample[]>;
  readonly externalUrl: string;
  readonly nowMs: number;
}

function sampleValue({ labels, value }: QuerySample): GoObject {
  const fields = { Labels: new GoMap(labels, ""), Value: value };
  return {
    goType: "template.sample",
    fields,
    print: () => `{${printValue(fields.Labels)} ${printValue(value)}}`,
  };
}

function sampleField(value: TemplateValue | undefined, field: "Labels" | "Value"): TemplateValue {
  if (value !== undefined && isObject(value) && value.goType === "template.sample")
    return value.fields?.[field] ?? null;
  throw new TemplateError(`expected a query result, to take its ${field}`);
}

function sortedByLabel(args: readonly TemplateValue[]): TemplateValue {
  const label = textArg(args, 0, "sortByLabel");
  const items = itemsOf(args[1] ?? null) ?? [];
  const key = (item: TemplateValue): string => {
    const labels = sampleField(item, "Labels");
    const found = labels instanceof GoMap ? labels.entries.get(label) : "";
    return typeof found === "string" ? found : "";
  };
  return [...items].sort((left, right) =>
    key(left) < key(right) ? -1 : key(left) > key(right) ? 1 : 0,
  );
}

function graphLink(expr: string, tab: number): string {
  const query = encodeURIComponent(expr).replaceAll("%20", "+");
  return `/graph?g0.expr=${query}&g0.tab=${tab}`;
}

function durationOfText(text: string): number {
  const durationMs = parseDurationMs(text);
  if (durationMs === undefined) throw new TemplateError(`not a valid duration string: "${text}"`);
  return durationMs;
}

/** The context is read at each function call: a template is parsed once and run for many alerts. */
export function prometheusFunctions(context: PrometheusContext): Functions {
  return {
    ...textFunctions,
    query: (args) => {
      const text = textArg(args, 0, "query");
      const answer = context.answers.get(text);
      if (answer === undefined) throw new NeedsQuery(text);
      return answer.map(sampleValue);
    },
    first: ([list]) => {
      const [first] = itemsOf(list ?? null) ?? [];
      if (first === undefined) throw new TemplateError("first() called on vector with no elements");
      return first;
    },
    label: (args) => {
      const labels = sampleField(args[1], "Labels");
      const found = labels instanceof GoMap ? labels.entries.get(textArg(args, 0, "label")) : "";
      return found ?? "";
    },
    value: ([sample]) => sampleField(sample, "Value"),
    strvalue: ([sample]) => {
      const labels = sampleField(sample, "Labels");
      return labels instanceof GoMap ? (labels.entries.get("__value__") ?? "") : "";
    },
    sortByLabel: sortedByLabel,
    args: (args) => new GoMap(new Map(args.map((value, index) => [`arg${index}`, value] as const))),
    humanize: ([value]) => humanize(floatOf(value)),
    humanize1024: ([value]) => humanize1024(floatOf(value)),
    humanizeDuration: ([value]) => humanizeDuration(floatOf(value)),
    humanizePercentage: ([value]) => humanizePercentage(floatOf(value)),
    humanizeTimestamp: ([value]) => humanizeTimestamp(floatOf(value)),
    toTime: ([value]) => goTime(floatOf(value) * 1_000),
    toDuration: ([value]) => goDuration(floatOf(value) * 1_000),
    now: () => context.nowMs / 1_000,
    parseDuration: (args) => durationOfText(textArg(args, 0, "parseDuration")) / 1_000,
    parseDurationTime: (args) => goDuration(durationOfText(textArg(args, 0, "parseDurationTime"))),
    graphLink: (args) => graphLink(textArg(args, 0, "graphLink"), 0),
    tableLink: (args) => graphLink(textArg(args, 0, "tableLink"), 1),
    stripPort: (args) => textArg(args, 0, "stripPort").replace(/^\[?([^\]]*?)\]?:\d+$/, "$1"),
    stripDomain: (args) => {
      const text = textArg(args, 0, "stripDomain");
      const [, host = text, port = ""] = /^(.*?)(:\d+)?$/.exec(text) ?? [];
      if (/^[\d.]+$/.test(host) || host.includes(":")) return text;
      return `${host.split(".")[0] ?? ""}${port}`;
    },
    externalURL: () => context.externalUrl,
    pathPrefix: () =>
      URL.canParse(context.externalUrl)
        ? new URL(context.externalUrl).pathname.replace(/\/$/, "")
        : "",
  };
}
