/** The variables of a Grafana dashboard: label value lists become variables of the board, constants are substituted. Pure. */
import { QueryError } from "../../query/errors.ts";
import { parse } from "../../query/parse/parse.ts";
import {
  boardLimits,
  type BoardVariable,
  durationNames,
  variableName,
} from "../../view/board/board.ts";
import { selectorsIn } from "./follow.ts";
import { type BoardJson, recordIn, textIn } from "./json.ts";

export interface GrafanaVariables {
  readonly own: readonly BoardVariable[];
  /** Rewrites a query to gpulse's variable syntax and substitutes constants. */
  readonly fill: (query: string) => string;
  readonly isKnown: (name: string) => boolean;
}

/** Grafana's built-in variables, with the durations that the page fills in. */
const builtIn: ReadonlyMap<string, string> = new Map([
  ["__rate_interval", "$rate"],
  ["__interval", "$step"],
  ["__range", "$range"],
]);

const reference = /\$\{(\w{1,60})(?::\w{1,20})?\}|\[\[(\w{1,60})(?::\w{1,20})?\]\]|\$(\w{1,60})/g;
const labelValues =
  /^\s*label_values\(\s*(?:(?<selector>.+?)\s*,\s*)?(?<label>[A-Za-z_]\w*)\s*\)\s*$/s;
const queryResult = /^\s*query_result\((.+)\)\s*$/s;
const labelInRegex = /([A-Za-z_]\w*)=\\?"\((?:\?<value>)?\[\^\\?"\][*+]\)/;
const fixedTypes: ReadonlySet<string> = new Set(["constant", "textbox", "custom", "interval"]);
const maxRead = 100;

export function readVariables(
  given: readonly BoardJson[],
  list: (sentence: string) => void,
): GrafanaVariables {
  const own: BoardVariable[] = [];
  const fixed = new Map<string, string>();
  const fill = (query: string): string =>
    query.replaceAll(reference, (whole, braced?: string, square?: string, bare?: string) => {
      const name = braced ?? square ?? bare ?? "";
      return builtIn.get(name) ?? fixed.get(name) ?? (isOwn(name) ? `$${name}` : whole);
    });
  const isOwn = (name: string): boolean => own.some((one) => one.name === name);
  for (const one of given.slice(0, maxRead)) {
    const name = textIn(one, "name") ?? "";
    const type = textIn(one, "type") ?? "query";
    if (type === "datasource") continue;
    const why = add(one, name, type);
    if (why !== undefined) list(`Variable “${name.slice(0, 40)}”: not imported. ${why}`);
  }
  return { own, fill, isKnown: (name) => isOwn(name) || durationNames.some((one) => one === name) };

  /** Returns why the variable cannot be imported. */
  function add(one: BoardJson, name: string, type: string): string | undefined {
    if (!variableName.test(name) || durationNames.some((taken) => taken === name))
      return "Its name cannot be used here.";
    if (isOwn(name)) return "Another one has its name.";
    if (fixedTypes.has(type)) {
      const value = fixedText(one, type);
      if (value === undefined) return "It has no plain text.";
      fixed.set(name, value);
      list(`Variable “${name}”: replaced by its text “${value}”.`);
      return undefined;
    }
    if (type !== "query") return `Variables of type "${type.slice(0, 40)}" are not supported.`;
    const asked =
      textIn(one, "query") ??
      textIn(recordIn(one, "query") ?? {}, "query") ??
      textIn(one, "definition") ??
      "";
    const regex = textIn(one, "regex") ?? "";
    const found =
      asked.length > boardLimits.queryCharacters
        ? undefined
        : (askedLabelValues(asked) ?? askedQueryResult(asked, regex));
    if (found === undefined)
      return "Only label_values(selector, label), and query_result(…) with one selector and a regex that takes a label's value, can be used here.";
    if (own.length >= boardLimits.variables)
      return `A board has at most ${boardLimits.variables} variables.`;
    if (found.ignoresRegex && regex !== "")
      list(`Variable “${name}”: imported without its regex, so it offers every value.`);
    const isSingle = one["multi"] !== true && one["includeAll"] === false;
    const { label, selector } = found;
    own.push({ name, label, selector: fill(selector), ...(isSingle ? { single: true } : {}) });
    return undefined;
  }
}

interface AskedValues {
  readonly label: string;
  readonly selector: string;
  readonly ignoresRegex: boolean;
}

function askedLabelValues(asked: string): AskedValues | undefined {
  const { label, selector } = labelValues.exec(asked)?.groups ?? {};
  return label === undefined
    ? undefined
    : { label, selector: selector ?? `{${label}!=""}`, ignoresRegex: true };
}

/** The regex extracts the label's value from the text of each result: `/uuid="(?<value>[^"]+)/`. */
function askedQueryResult(asked: string, regex: string): AskedValues | undefined {
  const label = labelInRegex.exec(regex)?.[1];
  const expr = queryResult.exec(asked)?.[1];
  if (label === undefined || expr === undefined) return undefined;
  // Grafana's variables are not valid PromQL. The placeholders have the same length, so that positions stay valid.
  const text = expr.replaceAll(reference, (whole) => "_".repeat(whole.length));
  try {
    const selectors = selectorsIn(parse(text));
    const [{ span } = { span: undefined }] = selectors;
    return span === undefined || selectors.length > 1
      ? undefined
      : { label, selector: expr.slice(span.start, span.end), ignoresRegex: false };
  } catch (thrown) {
    if (thrown instanceof QueryError) return undefined;
    throw thrown;
  }
}

/** The constant that Grafana would substitute; undefined if it is not the same everywhere. */
function fixedText(one: BoardJson, type: string): string | undefined {
  const current = recordIn(one, "current") ?? {};
  const given = current["value"];
  // Multiple selected values become one regular expression, as in Grafana.
  const chosen =
    Array.isArray(given) && given.every((each) => typeof each === "string")
      ? given.length === 1
        ? given[0]
        : `(${given.join("|")})`
      : textIn(current, "value");
  const first = textIn(one, "query")?.split(",")[0]?.trim();
  const value = chosen ?? (type === "custom" || type === "interval" ? first : textIn(one, "query"));
  const isPlain = value !== undefined && value !== "" && !/[$"\\\n]/.test(value);
  return isPlain && value.length <= 200 ? value : undefined;
}
