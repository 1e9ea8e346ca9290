/**
 * All differences between SQL engines: the macros of the SQL files, written `{{name}}` or `{{name(argument, …)}}`. Pure; an
 * unknown macro is a bug.
 */

export interface Dialect {
  readonly name: "duckdb" | "spark";
  /** A timestamp column as milliseconds since 1970. */
  epochMs(time: string): string;
  /** Integer division of non-negative values. */
  div(value: string, by: string): string;
  /** The exact quantile, interpolated between adjacent values. */
  quantile(value: string, share: string): string;
  /** Days since 1970 as `2026-01-31`. */
  day(days: string): string;
  /** Milliseconds since 1970 as `2026-01-31T10:20:30.000Z`. */
  iso(timeMs: string): string;
}

export const duckdbDialect: Dialect = {
  name: "duckdb",
  epochMs: (time) => `epoch_ms(${time})`,
  div: (value, by) => `((${value}) // ${by})`,
  quantile: (value, share) => `quantile_cont(${value}, ${share})`,
  day: (days) => `strftime(make_timestamp((${days}) * 86400000000), '%Y-%m-%d')`,
  iso: (timeMs) => `strftime(make_timestamp((${timeMs}) * 1000), '%Y-%m-%dT%H:%M:%S.%gZ')`,
};

/** Spark 3.4 and newer, with the session in UTC. */
export const sparkDialect: Dialect = {
  name: "spark",
  epochMs: (time) => `unix_millis(cast(${time} as timestamp))`,
  div: (value, by) => `((${value}) div ${by})`,
  quantile: (value, share) => `percentile(${value}, ${share})`,
  day: (days) => `date_format(timestamp_millis((${days}) * 86400000), 'yyyy-MM-dd')`,
  iso: (timeMs) => `date_format(timestamp_millis(${timeMs}), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")`,
};

type Macro = (...given: string[]) => string;

const macrosOf = (dialect: Dialect): Record<string, Macro> => ({
  epoch_ms: (time = "") => dialect.epochMs(time),
  div: (value = "", by = "") => dialect.div(value, by),
  quantile: (value = "", share = "") => dialect.quantile(value, share),
  day: (days = "") => dialect.day(days),
  iso: (timeMs = "") => dialect.iso(timeMs),
  // Rounding errors of a constant are not variance.
  varies: (value = "") => `stddev_pop(${value}) > 1e-9 * greatest(abs(avg(${value})), 1e-300)`,
});

/**
 * Expands macros, innermost first, until none is left. `values` are the statement's own macros, expanded before the dialect's.
 */
export function expand(
  sql: string,
  dialect: Dialect,
  values: Readonly<Record<string, string | Macro>>,
): string {
  const macros: Readonly<Record<string, string | Macro>> = { ...macrosOf(dialect), ...values };
  let text = sql;
  for (let before = ""; before !== text;) {
    before = text;
    text = text.replace(/\{\{(\w+)(?:\(([^{}]*)\))?\}\}/g, (_all, name: string, given?: string) => {
      const macro = macros[name];
      if (macro === undefined) throw new Error(`BUG: no SQL macro is named ${name}.`);
      if (typeof macro === "string") return macro;
      return macro(...splitArguments(given ?? ""));
    });
  }
  return text;
}

/** Splits at the commas outside of parentheses. */
function splitArguments(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const letter of text) {
    if (letter === "(") depth++;
    if (letter === ")") depth--;
    if (letter === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim());
}

/** Doubles in E-notation: a plain 0.2 is a decimal in both engines, with different rounding. */
export const numberSql = (value: number | undefined): string =>
  value === undefined
    ? "cast(null as double)"
    : Number.isSafeInteger(value)
      ? String(value)
      : value.toExponential();

/** A text as an SQL literal of either engine; a backslash would be an escape in Spark, and none of our names contains one. */
export const textSql = (value: string): string =>
  `'${value.replaceAll("\\", "").replaceAll("'", "''")}'`;
