/**
 * `alertmanager.yml` as it is: the route tree, inhibition and time intervals, checked. What a receiver sends by is read
 * by src/notify, which knows the channels; here receivers are names.
 */
import * as v from "valibot";
import { parseDurationMs } from "../../config/duration.ts";
import { checkText } from "../../config/file.ts";
import { GpulseError } from "../../errors/error.ts";
import type { LabelMatcher } from "./matchers.ts";
import { labelMatcher, parseMatchers } from "./matchers.ts";
import type { TimeInterval } from "./time-interval.ts";
import { timeInterval, timeIntervalSchema } from "./time-interval.ts";

export interface Route {
  /** Stable while the file is: where it stands in the tree. */
  readonly id: string;
  readonly receiver: string;
  /** undefined: by all labels. */
  readonly groupBy: ReadonlySet<string> | undefined;
  readonly matchers: readonly LabelMatcher[];
  readonly continues: boolean;
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  readonly repeatIntervalMs: number;
  readonly muteTimes: readonly string[];
  readonly activeTimes: readonly string[];
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
  /** As the file has them, for the channels to read. */
  readonly global: Readonly<Record<string, unknown>>;
  readonly receivers: readonly Readonly<Record<string, unknown>>[];
  readonly templates: readonly string[];
  /** The text it was read from, for whoever asks what is running. */
  readonly source: string;
}

function duration() {
  const takes = "a duration such as 30s or 4h";
  return v.pipe(
    v.union([v.string(takes), v.number(takes)], takes),
    v.transform((given) => parseDurationMs(String(given)) ?? Number.NaN),
    v.check((ms) => ms >= 0, takes),
  );
}

const text = () =>
  v.pipe(
    v.union([v.string("text"), v.number("text"), v.boolean("text")], "text"),
    v.transform(String),
  );
const texts = () => v.optional(v.array(text()));
const pairs = () => v.optional(v.record(v.string(), text()));
const matcherList = () => v.optional(v.union([v.array(text()), text()]));

interface RawRoute {
  receiver?: string | undefined;
  group_by?: string[] | undefined;
  continue?: boolean | undefined;
  matchers?: string[] | string | undefined;
  match?: Record<string, string> | undefined;
  match_re?: Record<string, string> | undefined;
  group_wait?: number | undefined;
  group_interval?: number | undefined;
  repeat_interval?: number | undefined;
  mute_time_intervals?: string[] | undefined;
  active_time_intervals?: string[] | undefined;
  routes?: RawRoute[] | null | undefined;
}

const routeSchema: v.GenericSchema<unknown, RawRoute> = v.strictObject({
  receiver: v.optional(text()),
  group_by: texts(),
  continue: v.optional(v.boolean("true or false")),
  matchers: matcherList(),
  match: pairs(),
  match_re: pairs(),
  group_wait: v.optional(duration()),
  group_interval: v.optional(duration()),
  repeat_interval: v.optional(duration()),
  mute_time_intervals: texts(),
  active_time_intervals: texts(),
  routes: v.nullish(v.array(v.lazy(() => routeSchema))),
});

const inhibitSchema = v.strictObject({
  name: v.optional(text()),
  source_match: pairs(),
  source_match_re: pairs(),
  source_matchers: matcherList(),
  target_match: pairs(),
  target_match_re: pairs(),
  target_matchers: matcherList(),
  equal: texts(),
});

const namedIntervals = v.strictObject({
  name: text(),
  time_intervals: v.nullish(v.array(timeIntervalSchema), []),
});

const fileSchema = v.strictObject({
  global: v.nullish(v.record(v.string(), v.unknown()), {}),
  route: routeSchema,
  receivers: v.nullish(v.array(v.looseObject({ name: text() })), []),
  inhibit_rules: v.nullish(v.array(inhibitSchema), []),
  mute_time_intervals: v.nullish(v.array(namedIntervals), []),
  time_intervals: v.nullish(v.array(namedIntervals), []),
  templates: v.nullish(v.array(text()), []),
  tracing: v.optional(v.unknown()),
});

const minute = 60_000;

/** @throws GpulseError ALERT_CONFIG with what is wrong and where. */
export async function parseRouting(source: string, file: string): Promise<RoutingConfig> {
  const checked = await checkText(source, file, fileSchema, undefined);
  if (!checked.ok)
    throw new GpulseError(
      "ALERT_CONFIG",
      checked.problems.map(({ sentence }) => sentence).join("\n"),
    );
  const raw = checked.value;
  const fail = (sentence: string): never => {
    throw new GpulseError("ALERT_CONFIG", `${file}: ${sentence}`);
  };
  const receivers = new Set<string>();
  for (const { name } of raw.receivers) {
    if (receivers.has(name)) fail(`the receiver "${name}" stands twice.`);
    receivers.add(name);
  }
  const timeIntervals = new Map<string, readonly TimeInterval[]>();
  for (const { name, time_intervals } of [...raw.mute_time_intervals, ...raw.time_intervals]) {
    if (timeIntervals.has(name)) fail(`the time interval "${name}" stands twice.`);
    timeIntervals.set(name, time_intervals.map(timeInterval));
  }
  const top = raw.route;
  if (top.receiver === undefined) fail("the root route has no receiver.");
  if (top.matchers !== undefined || top.match !== undefined || top.match_re !== undefined)
    fail("the root route takes no matchers: it takes every alert.");
  if (top.mute_time_intervals !== undefined || top.active_time_intervals !== undefined)
    fail("the root route takes no time intervals.");
  const route = routeOf(top, "{}", rootDefaults, (found) => {
    if (!receivers.has(found.receiver))
      fail(`a route names the receiver "${found.receiver}", which is not there.`);
    for (const name of [...found.muteTimes, ...found.activeTimes])
      if (!timeIntervals.has(name))
        fail(`a route names the time interval "${name}", which is not there.`);
  });
  const resolve = raw.global["resolve_timeout"];
  return {
    route,
    inhibitRules: raw.inhibit_rules.map((rule) => ({
      source: matchersOf(rule.source_matchers, rule.source_match, rule.source_match_re),
      target: matchersOf(rule.target_matchers, rule.target_match, rule.target_match_re),
      equal: rule.equal ?? [],
    })),
    timeIntervals,
    resolveTimeoutMs:
      parseDurationMs(typeof resolve === "string" ? resolve : "5m") ??
      fail("resolve_timeout must be a duration."),
    global: raw.global,
    receivers: raw.receivers,
    templates: raw.templates,
    source,
  };
}

type Inherited = Pick<
  Route,
  "receiver" | "groupBy" | "groupWaitMs" | "groupIntervalMs" | "repeatIntervalMs"
>;

const rootDefaults: Inherited = {
  receiver: "",
  groupBy: new Set<string>(),
  groupWaitMs: 30_000,
  groupIntervalMs: 5 * minute,
  repeatIntervalMs: 240 * minute,
};

function routeOf(
  raw: RawRoute,
  path: string,
  parent: Inherited,
  check: (route: Route) => void,
): Route {
  const { group_by: by } = raw;
  const own: Inherited = {
    receiver: raw.receiver ?? parent.receiver,
    groupBy: by === undefined ? parent.groupBy : by.includes("...") ? undefined : new Set(by),
    groupWaitMs: raw.group_wait ?? parent.groupWaitMs,
    groupIntervalMs: raw.group_interval ?? parent.groupIntervalMs,
    repeatIntervalMs: raw.repeat_interval ?? parent.repeatIntervalMs,
  };
  const matchers = matchersOf(raw.matchers, raw.match, raw.match_re);
  const route: Route = {
    ...own,
    id: path,
    matchers,
    continues: raw.continue ?? false,
    muteTimes: raw.mute_time_intervals ?? [],
    activeTimes: raw.active_time_intervals ?? [],
    routes: (raw.routes ?? []).map((child, index) =>
      routeOf(child, `${path}/${index}`, own, check),
    ),
  };
  check(route);
  return route;
}

function matchersOf(
  matchers: readonly string[] | string | undefined,
  match: Readonly<Record<string, string>> | undefined,
  matchRe: Readonly<Record<string, string>> | undefined,
): LabelMatcher[] {
  const list = typeof matchers === "string" ? [matchers] : (matchers ?? []);
  return [
    ...list.flatMap(parseMatchers),
    ...Object.entries(match ?? {}).map(([name, value]) => labelMatcher(name, "=", value)),
    ...Object.entries(matchRe ?? {}).map(([name, value]) => labelMatcher(name, "=~", value)),
  ];
}
