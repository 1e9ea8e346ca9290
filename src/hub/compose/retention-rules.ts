/** The retention rules of the settings, with parsed selectors and durations checked against the store's. */
import { GpulseError } from "../../base/error.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { formatDuration } from "../../config/duration.ts";
import { QueryError } from "../../query/errors.ts";
import { parse } from "../../query/parse/parse.ts";
import type { RetentionRule } from "../../storage/embedded/rules.ts";

type RuleSettings = Pick<Settings, "retentionMs" | "rollupRetentionMs" | "retentionRules">;

/** Throws on the first rule that is invalid. */
export const toRetentionRules = (settings: RuleSettings): readonly RetentionRule[] =>
  settings.retentionRules.map((rule) => {
    const { match, retentionMs, rollupRetentionMs } = rule;
    const wrong = (why: string): never => {
      throw new GpulseError("CONFIG_WRONG_VALUE", `The retention rule ${match} ${why}`);
    };
    const longestMs = Math.max(settings.retentionMs, settings.rollupRetentionMs);
    if (retentionMs > settings.retentionMs)
      wrong(
        `is longer than the retention of ${formatDuration(settings.retentionMs)}, and a rule can only shorten it: raise --retention, and shorten it for other series by rules.`,
      );
    if (rollupRetentionMs > longestMs)
      wrong(
        `is longer for rollups than the rollup retention of ${formatDuration(longestMs)}, and a rule can only shorten it: raise --rollup-retention.`,
      );
    try {
      const selector = parse(match);
      if (selector.kind !== "vector" || selector.offsetMs !== 0 || selector.atMs !== undefined)
        return wrong("has no valid selector: pass a selector of series without offset and @.");
      return { match, matchers: selector.matchers, retentionMs, rollupRetentionMs };
    } catch (thrown) {
      if (!(thrown instanceof QueryError)) throw thrown;
      return wrong(`has no valid selector: ${thrown.message}`);
    }
  });
