import { expect, test } from "vitest";
import { checkValue } from "../config/check.ts";
import { metricsPath } from "./schema.ts";

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
