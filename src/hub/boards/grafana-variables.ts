/** The variables of a Grafana dashboard: lists of label values become variables of the board, fixed texts are filled in. Pure. */
import {
  boardLimits,
  type BoardVariable,
  durationNames,
  variableName,
} from "../../view/board/board.ts";
import { type JsonRecord, recordIn, textIn } from "./json.ts";

export interface GrafanaVariables {
  readonly own: readonly BoardVariable[];
  /** The query with our spelling of variables, and fixed ones as their text. */
  readonly fill: (query: string) => string;
  readonly isKnown: (name: string) => boolean;
}

/** Grafana's own, as the durations that the page fills in. */
const builtIn: ReadonlyMap<string, string> = new Map([
  ["__rate_interval", "$rate"],
  ["__interval", "$step"],
  ["__range", "$range"],
]);

const reference = /\$\{(\w{1,60})(?::\w{1,20})?\}|\[\[(\w{1,60})(?::\w{1,20})?\]\]|\$(\w{1,60})/g;
const labelValues =
  /^\s*label_values\(\s*(?:(?<selector>.+?)\s*,\s*)?(?<label>[A-Za-z_]\w*)\s*\)\s*$/s;
const maxRead = 100;

export function readVariables(
  given: readonly JsonRecord[],
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
    if (why !== undefined) list(`Variable “${name.slice(0, 40)}”: not taken over. ${why}`);
  }
  return { own, fill, isKnown: (name) => isOwn(name) || durationNames.some((one) => one === name) };

  /** Why it cannot be taken over. */
  function add(one: JsonRecord, name: string, type: string): string | undefined {
    if (!variableName.test(name) || durationNames.some((taken) => taken === name))
      return "Its name cannot be used here.";
    if (isOwn(name)) return "Another one has its name.";
    if (type === "constant" || type === "textbox" || type === "custom") {
      const current = recordIn(one, "current") ?? {};
      const value = textIn(current, "value") ?? textIn(one, "query") ?? "";
      if (value === "" || value.length > 200 || /[$"\\\n]/.test(value))
        return "It has no plain text.";
      fixed.set(name, value);
      list(`Variable “${name}”: replaced by its text “${value}”.`);
      return undefined;
    }
    if (type !== "query") return `Variables of type "${type.slice(0, 40)}" are not supported.`;
    const asked = textIn(one, "query") ?? textIn(recordIn(one, "query") ?? {}, "query") ?? "";
    const found = asked.length > boardLimits.queryCharacters ? null : labelValues.exec(asked);
    const label = found?.groups?.["label"];
    if (label === undefined) return "Only label_values(selector, label) can be asked here.";
    if (own.length >= boardLimits.variables)
      return `A board has at most ${boardLimits.variables} variables.`;
    own.push({ name, label, selector: fill(found?.groups?.["selector"] ?? `{${label}!=""}`) });
    return undefined;
  }
}
