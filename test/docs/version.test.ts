// One version everywhere: the packages, the Helm chart and the newest release in the changelog must agree.

import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { repository } from "../../engines/program.ts";
import { pages } from "./pages.ts";

interface Manifest {
  readonly version: string;
}

interface Lockfile extends Manifest {
  readonly packages: Record<string, Manifest | undefined>;
}

const read = (file: string): string => readFileSync(path.join(repository, file), "utf8");
const changelog = read("CHANGELOG.md");
const { version } = JSON.parse(read("package.json")) as Manifest;
const lock = JSON.parse(read("package-lock.json")) as Lockfile;
const chart = parse(read("deploy/helm/gpulse/Chart.yaml")) as Manifest & { appVersion: string };
const headings = [...changelog.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => heading);

test.each([
  ["newest release in CHANGELOG.md", headings[1]?.split(" ")[0]],
  ["version of Chart.yaml", chart.version],
  ["appVersion of Chart.yaml", chart.appVersion],
  ["web/package.json", (JSON.parse(read("web/package.json")) as Manifest).version],
  ["demo-app/package.json", (JSON.parse(read("deploy/demo-app/package.json")) as Manifest).version],
  ["package-lock.json", lock.version],
  ...["", "web", "deploy/demo-app"].map((name) => [
    `package-lock.json, package "${name}"`,
    lock.packages[name]?.version,
  ]),
])("%s has the version of package.json", (_name, found) => {
  expect(found).toBe(version);
});

test("every image and package that the documentation names has this version", () => {
  const named = pages().flatMap(({ file, text }) =>
    [...text.matchAll(/\bgpulse(?:-demo-app)?[:-](\d+\.\d+\.\d+)/g)].map((match) => [
      file,
      match[1],
    ]),
  );
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter(([, found]) => found !== version)).toEqual([]);
});

test("the changelog starts with Unreleased, followed by releases with their dates", () => {
  expect(headings[0]).toBe("Unreleased");
  expect(headings.slice(1).filter((one) => !/^\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/.test(one))).toEqual(
    [],
  );
});

test("every changelog line names its area, under a known group", () => {
  const released = changelog.slice(changelog.indexOf("\n## ", changelog.indexOf("## Unreleased")));
  const groups = [...released.matchAll(/^### (.+)$/gm)].map(([, group]) => group);
  const known = new Set(["Added", "Changed", "Fixed", "Security"]);
  expect(groups.filter((group) => !known.has(group ?? ""))).toEqual([]);
  const lines = [...changelog.matchAll(/^- .+$/gm)].map(([line]) => line);
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.filter((line) => !/^- [A-Z][\w ,-]+: \S/.test(line))).toEqual([]);
});
