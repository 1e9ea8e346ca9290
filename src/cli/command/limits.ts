/** The keys that say how often one client of the hub may ask. Defaults are the hub's own. */
import * as v from "valibot";

export interface LimitSettings {
  readonly queriesPerSecond?: number;
  readonly heavyPerSecond?: number;
  readonly alertsPerSecond?: number;
  readonly connectionsPerAddress?: number;
}

const withDescription = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.optional(v.pipe(schema, v.description(description)));

const takes = "a number from 0.1 to 1000000";
const takesCount = "a whole number from 1 to 1000000";
const perSecond = () =>
  v.pipe(v.number(takes), v.minValue(0.1, takes), v.maxValue(1_000_000, takes));

export const limitKeys = {
  limits: withDescription(
    v.strictObject({
      queries_per_second: withDescription(
        perSecond(),
        "Queries one token, user or address may ask, ten seconds' worth at once; more are answered 429. Default: 500, and no limit for this machine where nobody is asked.",
      ),
      heavy_per_second: withDescription(
        perSecond(),
        "The same for analyses, exports, uploads and snapshots. Default: 20.",
      ),
      alerts_per_second: withDescription(
        perSecond(),
        "Alerts one token, user or address may send to /api/v2/alerts and /alert, ten seconds' worth at once; more are answered 429. Default: 500.",
      ),
      connections_per_address: withDescription(
        v.pipe(
          v.number(takesCount),
          v.integer(takesCount),
          v.minValue(1, takesCount),
          v.maxValue(1_000_000, takesCount),
        ),
        "Connections that one address may hold; more are ended. Default: 2000, and no limit for this machine or with --behind-proxy.",
      ),
    }),
    "How often one client may ask: see [the threat model](../guides/threat-model.md#limits).",
  ),
};

interface FileKeys {
  readonly limits?:
    | {
        readonly queries_per_second?: number | undefined;
        readonly heavy_per_second?: number | undefined;
        readonly alerts_per_second?: number | undefined;
        readonly connections_per_address?: number | undefined;
      }
    | undefined;
}

export function limitSettings(file: FileKeys | undefined): LimitSettings {
  const {
    queries_per_second: queries,
    heavy_per_second: heavy,
    alerts_per_second: alerts,
    connections_per_address: connections,
  } = file?.limits ?? {};
  return {
    ...(queries === undefined ? {} : { queriesPerSecond: queries }),
    ...(heavy === undefined ? {} : { heavyPerSecond: heavy }),
    ...(alerts === undefined ? {} : { alertsPerSecond: alerts }),
    ...(connections === undefined ? {} : { connectionsPerAddress: connections }),
  };
}
