/** Numbers as Prometheus writes them: the shortest digits, an exponent of at least two, and a zero with its sign. */
export function formatValue(value: number): string {
  if (Number.isFinite(value)) {
    if (value === 0) return Object.is(value, -0) ? "-0" : "0";
    if (value > -1e-6 && value < 1e-6) return String(value).replace(/e-(\d)$/, "e-0$1");
    return String(value);
  }
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}
