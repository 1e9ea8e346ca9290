/** Formats an age: `4 s`, `3 min`, `2 h`, `5 d`. The space is non-breaking by default. */
export function formatAge(ms: number, space = "\u00a0"): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) return `${seconds}${space}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}${space}min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}${space}h`;
  return `${Math.floor(seconds / 86_400)}${space}d`;
}
