/** Retention rules that shorten the retention of some series: `{__name__=~"gpulse_.*"}: 7d`. The hub parses their selectors. */
import * as v from "valibot";
import { parseDurationMs } from "../../config/duration.ts";

export interface RetentionRuleSettings {
  readonly match: string;
  readonly retentionMs: number;
  readonly rollupRetentionMs: number;
}

const leastMs = 3_600_000;
const mostRules = 64;
const mostCharacters = 1_000;
const takes = `a selector and a duration of at least 1h, such as {__name__=~"gpulse_.*"}: 7d, or with a second one for rollups, such as {job="batch"}: 7d 90d`;

/** A single duration applies to raw samples and rollups. */
function parseRule(text: string): RetentionRuleSettings | undefined {
  const [, match, raw = "", rollups = raw] =
    /^\s*(\S.*?)\s*:\s*(\w+)(?:\s+(\w+))?\s*$/s.exec(text) ?? [];
  const [retentionMs = 0, rollupRetentionMs = 0] = [raw, rollups].map(parseDurationMs);
  if (match === undefined || match.length > mostCharacters) return undefined;
  if (retentionMs < leastMs || rollupRetentionMs < retentionMs) return undefined;
  return { match, retentionMs, rollupRetentionMs };
}

export const retentionRule = () =>
  v.pipe(
    v.string(takes),
    v.check((text) => parseRule(text) !== undefined, takes),
    v.transform((text) => parseRule(text) as RetentionRuleSettings),
    v.metadata({ takes: "retention rule" }),
  );

export const retentionRules = () =>
  v.pipe(
    v.array(retentionRule(), "a list of rules"),
    v.maxLength(mostRules, `at most ${mostRules} rules`),
    v.check(
      (rules) => new Set(rules.map(({ match }) => match)).size === rules.length,
      "rules whose selectors differ",
    ),
  );
