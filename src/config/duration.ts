/** Durations as Prometheus writes them (`500ms`, `1m30s`, `30d`); a bare number is seconds. */
const unitMs: Record<string, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
};

/** Returns milliseconds, or undefined if the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed) * 1_000;
  if (!/^(\d+(\.\d+)?(ms|[smhdwy]))+$/.test(trimmed)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdwy])/g)) {
    totalMs += Number(amount) * (unitMs[unit ?? ""] ?? Number.NaN);
  }
  return totalMs;
}

/** The shortest exact text for a duration: 90000 is `1m30s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s";
  let rest = ms;
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = unitMs[unit] ?? 1;
    const amount = unit === "ms" ? rest : Math.floor(rest / size);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * size;
  }
  return text;
}
