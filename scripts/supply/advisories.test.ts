// Known vulnerabilities: from the registry, else from OSV records, else explicitly missing.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";

import { checkAdvisories, compareVersions, isAffected, seriousFindings } from "./advisories.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-osv-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const shipped = [
  { name: "left-pad", version: "1.2.0" },
  { name: "@scope/parser", version: "2.0.0-rc.1" },
  { name: "right-pad", version: "1.0.0" },
];
/** npm's output if the registry has no such route. */
const noAdvisories = JSON.stringify({
  message: "405 Method Not Allowed - POST /-/npm/v1/security/advisories/bulk",
  method: "POST",
  statusCode: 405,
  error: { summary: "", detail: "" },
});
const offline = { audit: async () => noAdvisories };

function osv(id: string, name: string, events: readonly object[], more: object = {}): void {
  const record = {
    id,
    affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events }] }],
    database_specific: { severity: "HIGH" },
    ...more,
  };
  const place = path.join(folder, "2026", "10", id);
  mkdirSync(place, { recursive: true });
  writeFileSync(path.join(place, `${id}.json`), JSON.stringify(record));
}

test("without a registry that offers advisories and without a database nothing passes as checked", async () => {
  const report = await checkAdvisories(shipped, { ...offline, database: "" });
  expect(report.source).toBe("missing");
  expect(report.says).toMatch(
    /^missing: the registry offers no advisories \(405 .*Nothing was checked\.$/,
  );
  const garbled = await checkAdvisories(shipped, { audit: async () => "not JSON", database: "" });
  expect(garbled.source).toBe("missing");
});

test("a folder without records is no check either", async () => {
  const empty = mkdtempSync(path.join(folder, "empty-"));
  expect((await checkAdvisories(shipped, { ...offline, database: empty })).source).toBe("missing");
});

test("OSV records find the packages and versions they name, and no others", async () => {
  osv("GHSA-aaaa", "left-pad", [{ introduced: "0" }, { fixed: "1.2.1" }]);
  osv("GHSA-bbbb", "@scope/parser", [{ introduced: "1.0.0" }, { last_affected: "2.0.0" }]);
  osv("GHSA-cccc", "right-pad", [{ introduced: "0" }, { fixed: "1.0.0" }]);
  osv("GHSA-dddd", "right-pad", [{ introduced: "0" }], { withdrawn: "2026-01-01T00:00:00Z" });
  const report = await checkAdvisories(shipped, { ...offline, database: folder });
  expect(report.source).toBe("database");
  expect(report.findings.map(({ id, name }) => `${name} ${id}`).sort()).toEqual([
    "@scope/parser GHSA-bbbb",
    "left-pad GHSA-aaaa",
  ]);
  expect(seriousFindings(report)).toHaveLength(2);
});

test("what the registry finds is named with its advisory", async () => {
  const via = [{ url: "https://github.com/advisories/GHSA-eeee" }];
  const answer = {
    vulnerabilities: {
      "left-pad": { name: "left-pad", range: "<=1.2.0", severity: "critical", via },
      host: { name: "host", range: "*", severity: "low", via: ["left-pad"] },
    },
    metadata: { vulnerabilities: { low: 1, critical: 1 } },
  };
  const report = await checkAdvisories(shipped, { audit: async () => JSON.stringify(answer) });
  expect(report.says).toContain("2 known (npm audit): left-pad@<=1.2.0 https://github.com/");
  expect(seriousFindings(report).map(({ name }) => name)).toEqual(["left-pad"]);
});

test("the registry's own answer comes first", async () => {
  const none = { vulnerabilities: {}, metadata: { vulnerabilities: { high: 0, critical: 0 } } };
  const report = await checkAdvisories(shipped, {
    audit: async () => `npm warn something\n${JSON.stringify(none)}`,
    database: folder,
  });
  expect(report).toEqual({ source: "registry", says: "none known (npm audit)", findings: [] });
});

test.each([
  ["1.2.3", "1.2.3", 0],
  ["1.2.3", "1.10.0", -1],
  ["2.0.0-rc.1", "2.0.0", -1],
  ["2.0.0-rc.2", "2.0.0-rc.10", -1],
  ["1.5.5-r.5", "1.5.5-r.4", 1],
  ["1.0.0-alpha", "1.0.0-alpha.1", -1],
  ["1.0.0-1", "1.0.0-a", -1],
  ["1.0.0+build", "1.0.0", 0],
  ["0.0.0-0", "0", -1],
])("%s against %s is %i", (a, b, order) => {
  expect(Math.sign(compareVersions(a, b))).toBe(order);
  expect(Math.sign(compareVersions(b, a))).toBe(order === 0 ? 0 : -order);
});

test.each([
  ["1.0.0", [{ introduced: "0" }], true],
  ["1.4.0", [{ introduced: "1.0.0" }, { fixed: "1.3.0" }, { introduced: "1.4.0" }], true],
  ["1.3.5", [{ introduced: "1.0.0" }, { fixed: "1.3.0" }, { introduced: "1.4.0" }], false],
  ["2.0.1", [{ introduced: "0" }, { last_affected: "2.0.0" }], false],
] as const)("%s in %j is affected: %s", (version, events, affected) => {
  expect(isAffected(version, { ranges: [{ type: "SEMVER", events: [...events] }] })).toBe(affected);
});
