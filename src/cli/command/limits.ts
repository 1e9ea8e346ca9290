/** The keys of the rate limits per client. Defaults are the hub's own. */
import * as v from "valibot";
import type { ConfigFile } from "./schema.ts";
import { optionalKey } from "./setting.ts";

export interface LimitSettings {
  readonly queriesPerSecond?: number;
  readonly heavyPerSecond?: number;
  readonly alertsPerSecond?: number;
  readonly connectionsPerAddress?: number;
}

const takes = "a number from 0.1 to 1000000";
const takesCount = "a whole number from 1 to 1000000";
const perSecond = () =>
  v.pipe(v.number(takes), v.minValue(0.1, takes), v.maxValue(1_000_000, takes));

export const limitKeys = {
  limits: optionalKey(
    v.strictObject({
      queries_per_second: optionalKey(
        perSecond(),
        "Queries per second of one token, user or address, with a burst of ten seconds; more get 429. Default: 500, and no limit for this machine if no login is required.",
      ),
      heavy_per_second: optionalKey(
        perSecond(),
        "The same for analyses, exports, uploads and snapshots. Default: 20.",
      ),
      alerts_per_second: optionalKey(
        perSecond(),
        "Alerts per second of one token, user or address to /api/v2/alerts and /alert, with a burst of ten seconds; more get 429. Default: 500.",
      ),
      connections_per_address: optionalKey(
        v.pipe(
          v.number(takesCount),
          v.integer(takesCount),
          v.minValue(1, takesCount),
          v.maxValue(1_000_000, takesCount),
        ),
        "Connections of one address; more are closed. Default: 2000, and no limit for this machine or with --behind-proxy.",
      ),
    }),
    "Rate limits per client: see [the threat model](../guides/threat-model.md#limits).",
  ),
};

const names = [
  ["queries_per_second", "queriesPerSecond"],
  ["heavy_per_second", "heavyPerSecond"],
  ["alerts_per_second", "alertsPerSecond"],
  ["connections_per_address", "connectionsPerAddress"],
] as const;

/** Only the limits set in the file. */
export function limitSettings(hub: ConfigFile["hub"]): LimitSettings {
  const limits: { -readonly [Name in keyof LimitSettings]: LimitSettings[Name] } = {};
  for (const [key, name] of names) {
    const value = hub?.limits?.[key];
    if (value !== undefined) limits[name] = value;
  }
  return limits;
}
