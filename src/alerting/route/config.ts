/**
 * Parses `alertmanager.yml`: the route tree, inhibition and time intervals, validated as in Alertmanager. Receivers are only
 * names here; src/alerting/channels reads their channels.
 */
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../base/error.ts";
import { readDocument } from "../../config/yaml/document.ts";
import { type RawRoute, type RawRouting, resolveTimeout, routingSchema } from "./config-schema.ts";
import { classicName, type LabelMatcher, labelMatcher, matchersText } from "./matchers.ts";
import { parseMatchers } from "./parse-matchers.ts";
import { type TimeInterval, timeInterval } from "./time-interval.ts";

export interface Route {
  /** The matchers of all routes down to this one, in Alertmanager's notation; two routes may have the same. */
  readonly key: string;
  /** The key, plus a count if it is not the first with that key: stays the same when routes move within the file. */
  readonly id: string;
  readonly receiver: string;
  /** Undefined: group by all labels. */
  readonly groupBy: ReadonlySet<string> | undefined;
  readonly matchers: readonly LabelMatcher[];
  readonly continues: boolean;
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  readonly repeatIntervalMs: number;
  readonly muteTimes: readonly string[];
  readonly activeTimes: readonly string[];
  /** Templates for `.RouteLabels`: those of the parent routes, overridden by its own. */
  readonly labels: Readonly<Record<string, string>>;
  readonly routes: readonly Route[];
}

export interface InhibitRule {
  readonly source: readonly LabelMatcher[];
  readonly target: readonly LabelMatcher[];
  readonly equal: readonly string[];
}

export interface RoutingConfig {
  readonly route: Route;
  readonly inhibitRules: readonly InhibitRule[];
  readonly timeIntervals: ReadonlyMap<string, readonly TimeInterval[]>;
  readonly resolveTimeoutMs: number;
  /** Unparsed, for the channels to read. */
  readonly global: Readonly<Record<string, unknown>>;
  readonly receivers: readonly (Readonly<Record<string, unknown>> & { readonly name: string })[];
  readonly templates: readonly string[];
  /** The text of the file, for APIs that show the running configuration. May contain secrets. */
  readonly source: string;
}

/** @throws GpulseError ALERT_CONFIG with each error and its position. */
export async function parseRouting(source: string, file: string): Promise<RoutingConfig> {
  const document = await readDocument(source, file);
  const checked = checkValue(routingSchema, document.value);
  if (!checked.ok)
    throw new GpulseError(
      "ALERT_CONFIG",
      checked.problems.map(({ path, sentence }) => `${document.at(path)}: ${sentence}`).join("\n"),
    );
  const resolve = checkValue(resolveTimeout, checked.value.global["resolve_timeout"]);
  if (!resolve.ok)
    throw new GpulseError(
      "ALERT_CONFIG",
      `${document.at(["global", "resolve_timeout"])}: ${resolve.problems[0]?.sentence ?? ""}`,
    );
  try {
    return { ...build(checked.value), resolveTimeoutMs: resolve.value, source };
  } catch (thrown) {
    if (!(thrown instanceof GpulseError)) throw thrown;
    throw new GpulseError("ALERT_CONFIG", `${file}: ${thrown.message}`, { cause: thrown });
  }
}

function fail(sentence: string): never {
  throw new GpulseError("ALERT_CONFIG", sentence);
}

function build(raw: RawRouting): Omit<RoutingConfig, "resolveTimeoutMs" | "source"> {
  const receivers = new Set<string>();
  for (const { name } of raw.receivers) {
    if (receivers.has(name)) fail(`duplicate receiver "${name}".`);
    receivers.add(name);
  }
  const timeIntervals = new Map<string, readonly TimeInterval[]>();
  for (const { name, time_intervals } of [...raw.mute_time_intervals, ...raw.time_intervals]) {
    if (timeIntervals.has(name)) fail(`duplicate time interval "${name}".`);
    timeIntervals.set(name, time_intervals.map(timeInterval));
  }
  checkRoot(raw.route);
  const seen = new Map<string, number>();
  const route = routeOf(raw.route, undefined, seen);
  check(route, receivers, timeIntervals);
  return {
    route,
    inhibitRules: raw.inhibit_rules.map((rule) => ({
      source: matchersOf(rule.source_matchers, rule.source_match, rule.source_match_re),
      target: matchersOf(rule.target_matchers, rule.target_match, rule.target_match_re),
      equal: (rule.equal ?? []).map((name) => anyLabelName(name, "equal")),
    })),
    timeIntervals,
    global: raw.global,
    receivers: raw.receivers,
    templates: raw.templates,
  };
}

/** The root route must match every alert at any time, since unmatched alerts end there. */
function checkRoot(root: RawRoute): void {
  const { receiver = "", matchers = [], match = {}, match_re = {} } = root;
  if (receiver === "") fail("the root route has no receiver.");
  if (matchers.length + Object.keys(match).length + Object.keys(match_re).length > 0)
    fail("the root route must not have matchers: it matches every alert.");
  if ([...(root.mute_time_intervals ?? []), ...(root.active_time_intervals ?? [])].length > 0)
    fail("the root route must not have time intervals: put them on a route below it.");
  if (root.continue === true) fail("the root route must not have continue: no route follows it.");
}

function check(
  route: Route,
  receivers: ReadonlySet<string>,
  timeIntervals: ReadonlyMap<string, unknown>,
): void {
  if (!receivers.has(route.receiver))
    fail(`a route names the undefined receiver "${route.receiver}".`);
  for (const name of [...route.muteTimes, ...route.activeTimes])
    if (!timeIntervals.has(name)) fail(`a route names the undefined time interval "${name}".`);
  for (const child of route.routes) check(child, receivers, timeIntervals);
}

type InheritedRoute = Pick<
  Route,
  "key" | "receiver" | "groupBy" | "groupWaitMs" | "groupIntervalMs" | "repeatIntervalMs" | "labels"
>;

const rootDefaults: InheritedRoute = {
  key: "",
  receiver: "",
  groupBy: new Set<string>(),
  groupWaitMs: 30_000,
  groupIntervalMs: 5 * 60_000,
  repeatIntervalMs: 240 * 60_000,
  labels: {},
};

function routeOf(
  raw: RawRoute,
  parent: InheritedRoute | undefined,
  seen: Map<string, number>,
): Route {
  const above = parent ?? rootDefaults;
  const matchers = matchersOf(raw.matchers, raw.match, raw.match_re);
  const text = matchersText(matchers);
  const own: InheritedRoute = {
    key: parent === undefined ? text : `${parent.key}/${text}`,
    receiver: raw.receiver === undefined || raw.receiver === "" ? above.receiver : raw.receiver,
    groupBy: groupByOf(raw.group_by ?? [], above.groupBy),
    groupWaitMs: raw.group_wait ?? above.groupWaitMs,
    groupIntervalMs: raw.group_interval ?? above.groupIntervalMs,
    repeatIntervalMs: raw.repeat_interval ?? above.repeatIntervalMs,
    labels: { ...above.labels, ...raw.labels },
  };
  for (const name of Object.keys(raw.labels ?? {})) labelName(name, "labels");
  const count = (seen.get(own.key) ?? 0) + 1;
  seen.set(own.key, count);
  return {
    ...own,
    id: count === 1 ? own.key : `${own.key}#${count}`,
    matchers,
    continues: raw.continue ?? false,
    muteTimes: raw.mute_time_intervals ?? [],
    activeTimes: raw.active_time_intervals ?? [],
    routes: (raw.routes ?? []).map((child) => routeOf(child, own, seen)),
  };
}

/** An empty list inherits, like a missing one. */
function groupByOf(given: readonly string[], above: Route["groupBy"]): Route["groupBy"] {
  if (given.length === 0) return above;
  const names = given.filter((name) => name !== "...");
  if (names.length === 0) return undefined;
  if (names.length < given.length)
    fail('group_by takes "..." (by all labels) or names of labels, not both.');
  const by = new Set(names.map((name) => anyLabelName(name, "group_by")));
  if (by.size < names.length) fail("group_by names a label twice.");
  return by;
}

/** Any UTF-8 name, which Alertmanager accepts since 0.27; `match` and `match_re` accept only classic names there too. */
const anyLabelName = (name: string, where: string): string =>
  name === "" ? fail(`"" in ${where} is not a valid label name.`) : name;

const labelName = (name: string, where: string): string =>
  classicName.test(name) ? name : fail(`"${name}" in ${where} is not a valid label name.`);

function matchersOf(
  matchers: readonly string[] = [],
  match: Readonly<Record<string, string>> = {},
  matchRe: Readonly<Record<string, string>> = {},
): LabelMatcher[] {
  return [
    ...matchers.flatMap(parseMatchers),
    ...Object.entries(match).map(([name, value]) =>
      labelMatcher(labelName(name, "match"), "=", value),
    ),
    ...Object.entries(matchRe).map(([name, value]) =>
      labelMatcher(labelName(name, "match_re"), "=~", value),
    ),
  ];
}
