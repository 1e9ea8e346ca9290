// `npm run release -- --dry-run` as a maintainer runs it, and its artifacts as users get them: checksums, the package
// installed and started, the chart read by Helm. Single-file programs have a test of their own.

import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { kubeTools, runHelm } from "../../engines/helm.ts";
import { freePort } from "../../engines/ports.ts";
import { runProcess, startProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";

const folder = path.join(repository, "dist", "release");
const { version } = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8")) as {
  version: string;
};
const tarball = `gpulse-${version}.tgz`;
let work = "";
let printed = "";

beforeAll(async () => {
  work = await mkdtemp(path.join(tmpdir(), "gpulse release-"));
  const script = path.join(repository, "scripts", "release", "main.mjs");
  const args = [script, "--dry-run", "--no-single-file"];
  const done = await runProcess(process.execPath, args, { cwd: repository, timeoutMs: 500_000 });
  if (done.code !== 0) throw new Error(done.stderr);
  printed = done.stderr;
}, 600_000);

afterAll(() => rm(work, { recursive: true, force: true }));

test("a dry run makes every file, unsigned, and lists what would be published", () => {
  expect(readdirSync(folder).sort()).toEqual([
    "RELEASE-NOTES.md",
    "SHA256SUMS",
    "THIRD-PARTY-LICENSES.txt",
    `gpulse-${version}-image-context.tar.gz`,
    tarball,
    `gpulse-chart-${version}.tgz`,
    "provenance.json",
    "sbom.cdx.json",
  ]);
  expect(printed).toContain("would publish: dist/release");
  expect(printed).toContain("signature: missing");
  expect(printed).toMatch(/^time: [\d.]+ s$/m);
  for (const name of readdirSync(folder)) expect(printed).toContain(`  ${name} `);
  const notes = readFileSync(path.join(folder, "RELEASE-NOTES.md"), "utf8");
  expect(notes.startsWith(`# gpulse ${version}\n`)).toBe(true);
  const provenance: unknown = JSON.parse(
    readFileSync(path.join(folder, "provenance.json"), "utf8"),
  );
  expect(provenance).toMatchObject({ name: "gpulse", version });
});

test("the checksums are those of the files", async () => {
  const args = ["--check", "--strict", "SHA256SUMS"];
  const checked = await runProcess("sha256sum", args, { cwd: folder });
  expect(checked.code, checked.stdout).toBe(0);
});

test("a release without a key and without --dry-run is refused before anything is made", async () => {
  const script = path.join(repository, "scripts", "release", "main.mjs");
  const done = await runProcess(process.execPath, [script], { env: { GPULSE_RELEASE_KEY: "" } });
  expect(done.code).toBe(1);
  expect(done.stderr).toContain("--dry-run");
});

test(
  "the package installs with npm i -g --prefix and starts the page and the documentation",
  { timeout: 180_000 },
  async () => {
    const prefix = path.join(work, "prefix");
    const flags = ["--offline", "--omit=optional", "--no-audit", "--no-fund"];
    const install = ["install", "--global", "--prefix", prefix, ...flags];
    const npm = await runProcess("npm", [...install, path.join(folder, tarball)], { cwd: work });
    expect(npm.code, npm.stderr).toBe(0);
    const program = path.join(prefix, "bin", "gpulse");
    const reported = await runProcess(program, ["--version"]);
    const { commit } = JSON.parse(readFileSync(path.join(folder, "provenance.json"), "utf8")) as {
      commit: string;
    };
    expect(reported.stdout).toContain(`gpulse ${version} (commit ${commit.slice(0, 7)}`);

    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const data = ["--data", path.join(work, "data"), "--port", String(port), "--no-open"];
    const up = startProcess(program, ["up", "--source", "sim:2", ...data], { name: "gpulse up" });
    try {
      await up.waitForUrl(`${url}-/ready`, 60_000);
      expect(await (await fetch(url)).text()).toContain("<title>gpulse");
      expect(await (await fetch(`${url}docs/`)).text()).toContain("Documentation");
      const build: unknown = await (await fetch(`${url}api/v1/status/buildinfo`)).json();
      expect(build).toMatchObject({ data: { gpulse: version } });
    } finally {
      await up.stop(20_000);
    }
  },
);

test("Helm lints and renders the packed chart", { timeout: 200_000 }, async (context) => {
  await orSkip(context, kubeTools());
  const chart = path.join(folder, `gpulse-chart-${version}.tgz`);
  const lint = await runHelm(["lint", chart]);
  expect(lint.code, lint.stdout + lint.stderr).toBe(0);
  const args = ["template", "gpulse", chart, "--kube-version", "1.34.0"];
  const packed = await runHelm(args);
  const source = path.join(repository, "deploy", "helm", "gpulse");
  const direct = await runHelm(args.map((word) => (word === chart ? source : word)));
  expect(packed.code, packed.stderr).toBe(0);
  expect(packed.stdout).toBe(direct.stdout);
});
