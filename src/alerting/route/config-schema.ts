/** The schema of `alertmanager.yml` for routing. src/alerting/channels reads the receivers and the global section. */
import * as v from "valibot";
import { duration, labelMap, scalar, yamlBoolean } from "../../config/yaml/fields.ts";
import { timeIntervalSchema } from "./time-interval.ts";

const texts = () => v.optional(v.array(scalar(), "a list"));

const positive = (name: string) =>
  v.pipe(
    duration(),
    v.check((ms) => ms > 0, `a ${name} above zero`),
  );

const anything = () =>
  v.custom<Record<string, unknown>>(
    (given) => typeof given === "object" && given !== null && !Array.isArray(given),
    "a mapping",
  );

export interface RawRoute {
  receiver?: string | undefined;
  group_by?: string[] | undefined;
  continue?: boolean | undefined;
  matchers?: string[] | undefined;
  match?: Record<string, string> | undefined;
  match_re?: Record<string, string> | undefined;
  group_wait?: number | undefined;
  group_interval?: number | undefined;
  repeat_interval?: number | undefined;
  mute_time_intervals?: string[] | undefined;
  active_time_intervals?: string[] | undefined;
  labels?: Record<string, string> | undefined;
  routes?: RawRoute[] | undefined;
}

const routeSchema: v.GenericSchema<unknown, RawRoute> = v.strictObject({
  receiver: v.optional(scalar()),
  group_by: texts(),
  continue: v.optional(yamlBoolean()),
  matchers: texts(),
  match: labelMap(),
  match_re: labelMap(),
  group_wait: v.optional(duration()),
  group_interval: v.optional(positive("group_interval")),
  repeat_interval: v.optional(positive("repeat_interval")),
  mute_time_intervals: texts(),
  active_time_intervals: texts(),
  labels: labelMap(),
  routes: v.optional(v.array(v.lazy(() => routeSchema))),
});

const inhibitSchema = v.strictObject({
  name: v.optional(scalar()),
  source_match: labelMap(),
  source_match_re: labelMap(),
  source_matchers: texts(),
  target_match: labelMap(),
  target_match_re: labelMap(),
  target_matchers: texts(),
  equal: texts(),
});

const namedIntervals = v.strictObject({
  name: v.pipe(scalar("a name"), v.nonEmpty("a name")),
  time_intervals: v.optional(v.array(timeIntervalSchema), []),
});

export const routingSchema = v.strictObject({
  global: v.optional(anything(), {}),
  route: routeSchema,
  receivers: v.optional(
    v.array(v.looseObject({ name: v.pipe(scalar("a name"), v.nonEmpty("a name")) })),
    [],
  ),
  inhibit_rules: v.optional(v.array(inhibitSchema), []),
  mute_time_intervals: v.optional(v.array(namedIntervals), []),
  time_intervals: v.optional(v.array(namedIntervals), []),
  templates: v.optional(v.array(scalar()), []),
  tracing: v.optional(v.unknown()),
});

export type RawRouting = v.InferOutput<typeof routingSchema>;
export const resolveTimeout = v.optional(duration(), "5m");
