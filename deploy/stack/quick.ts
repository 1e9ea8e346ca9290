// Rules and routing with seconds instead of minutes, so that a drill need not wait. Only waiting times change: expressions and
// thresholds stay as shipped.

const WAIT_SECONDS = 5;
const UNITS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
  w: 604_800,
};

/** Rule files: `interval`, `for` and `keep_firing_for` of at most five seconds. */
export const quickRules = (text: string): string =>
  shortened(text, ["interval", "for", "keep_firing_for"], WAIT_SECONDS);

/** prometheus.yml: everything is scraped and evaluated at least every five seconds. */
export const quickPrometheus = (text: string): string =>
  shortened(
    shortened(text, ["scrape_interval", "evaluation_interval"], WAIT_SECONDS),
    ["scrape_timeout"],
    WAIT_SECONDS - 1,
  );

/** alertmanager.yml: groups do not wait for more alerts. */
export const quickRouting = (text: string): string =>
  shortened(text, ["group_wait", "group_interval"], WAIT_SECONDS);

function shortened(text: string, keys: readonly string[], mostSeconds: number): string {
  const line = new RegExp(
    `^(\\s*(?:- )?(?:${keys.join("|")}):\\s*)(\\d+)(ms|[smhdw])[ \\t]*$`,
    "gm",
  );
  return text.replace(line, (found, before: string, amount: string, unit: string) =>
    Number(amount) * (UNITS[unit] ?? 1) <= mostSeconds ? found : `${before}${mostSeconds}s`,
  );
}
