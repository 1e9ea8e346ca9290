import { expect, test } from "vitest";
import { checkValue } from "../../config/check.ts";
import { hubSettings, metricsPath } from "./table.ts";

const accepts = (path: string): boolean => checkValue(metricsPath(), path).ok;

test.for([
  "/metrics",
  "/metrics/",
  "/m",
  "/gpu/metrics.txt",
  "/api/snapshots",
  "/stats/gpu",
  "/~x",
])("%s can be the metrics path", (path) => expect(accepts(path)).toBe(true));

const longest = `/${"a".repeat(201)}`;
test.for([
  ["metrics", "", "metrics/", "/metrics?x=1", "/metrics#a", "/me trics", "http://a/metrics"],
  ["/a/../stats", "/./stats", "//stats", "/a/..", "/%2e%2e/stats", longest],
])("%j are no paths", (paths) => {
  for (const path of paths) {
    const checked = checkValue(metricsPath(), path);
    expect(checked.ok ? "" : checked.problems[0]?.sentence).toContain("a path that begins with /");
  }
});

test.for(["/", "/stats", "/api/snapshot", "/healthz", "/readyz"])(
  "%s is served by the agent itself",
  (path) => {
    const checked = checkValue(metricsPath(), path);
    expect(checked.ok ? "" : checked.problems[0]?.sentence).toContain("serves /, /stats");
  },
);

test.for([
  ["50GB", 50 * 2 ** 30],
  ["512mb", 512 * 2 ** 20],
  ["1.5TiB", 1.5 * 2 ** 40],
  ["100000000", 100_000_000],
])("%s is a retention size of %d bytes", ([given, bytes]) =>
  expect(checkValue(hubSettings.retention_size.schema, given)).toEqual({ ok: true, value: bytes }),
);

test.for(["", "10MB", "-5GB", "50 gigabytes", "GB", "1e12", "NaN"])(
  "%j is no retention size",
  (given) => {
    const checked = checkValue(hubSettings.retention_size.schema, given);
    expect(checked.ok ? "" : checked.problems[0]?.sentence).toContain("a size such as 50GB");
  },
);

test("durability is process or power", () => {
  expect(checkValue(hubSettings.durability.schema, "power").ok).toBe(true);
  expect(checkValue(hubSettings.durability.schema, "disk").ok).toBe(false);
});

test.for([
  ['{__name__=~"gpulse_.*"}: 7d', '{__name__=~"gpulse_.*"}', 7, 7],
  ['up{job="a:b"}:1w 90d', 'up{job="a:b"}', 7, 90],
  ["  http:requests:rate5m : 24h ", "http:requests:rate5m", 1, 1],
] as const)("%s retains %s for %d days, rollups for %d", ([given, match, days, rollupDays]) => {
  const dayMs = 86_400_000;
  expect(checkValue(hubSettings.retention_rules.schema, [given])).toEqual({
    ok: true,
    value: [{ match, retentionMs: days * dayMs, rollupRetentionMs: rollupDays * dayMs }],
  });
});

test.for([
  "",
  "7d",
  ": 7d",
  "{a='b'}",
  "{a='b'}: 10m",
  "{a='b'}: 7d 1d",
  "{a='b'}: 7 days",
  "{a='b'}: 7d 8d 9d",
  { "{a='b'}": "7d" },
])("%j is no retention rule", (given) => {
  const checked = checkValue(hubSettings.retention_rules.schema, [given]);
  expect(checked.ok ? "" : checked.problems[0]?.sentence).toContain("a selector and a duration");
});

test("one selector has one retention rule", () => {
  const checked = checkValue(hubSettings.retention_rules.schema, ["up: 7d", "up: 8d"]);
  expect(checked.ok ? "" : checked.problems[0]?.sentence).toContain("whose selectors differ");
});
