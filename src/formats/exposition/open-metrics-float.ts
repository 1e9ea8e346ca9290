/** Formats numbers of `le` and `quantile` as OpenMetrics does: one form for each value. Also bundled into the browser app. */

/** Formats a bound or quantile: an integer gets a `.0`. */
export function openMetricsFloat(value: number): string {
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  if (Number.isNaN(value)) return "NaN";
  const text = goFloat(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** The shortest digits in Go's format %g: from a million up, and below a ten-thousandth, with an exponent. */
function goFloat(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e-4 && magnitude < 1e6) return String(value);
  const [mantissa = "", exponent = ""] = value.toExponential().split("e");
  const sign = exponent.startsWith("-") ? "-" : "+";
  return `${mantissa}e${sign}${exponent.replace(/^[-+]/, "").padStart(2, "0")}`;
}
