// Discovery and relabeling with the same prometheus.yml in a real Prometheus and in the built hub: the same active
// targets with the same labels, the same dropped ones, and the same ends when a target disappears.

import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { differenceOf, type ScrapePair, startScrapePair, type TargetLists } from "./scrape-pair.ts";

const found = findTool("prometheus");
const stops: (() => Promise<void>)[] = [];
let pair: ScrapePair;
let folder: string;
let page = "m 1\ngoes 1\n";

/** The relabeling examples of Prometheus's documentation, on targets that need not respond. */
const relabelExamples: Readonly<Record<string, readonly object[]>> = {
  keep: [{ source_labels: ["team"], regex: "a|b", action: "keep" }],
  drop: [{ source_labels: ["__address__"], regex: "127.1.0.2.*", action: "drop" }],
  replace: [
    { source_labels: ["__address__"], regex: "(.*):\\d+", target_label: "host", replacement: "$1" },
  ],
  "replace-scheme": [{ target_label: "__scheme__", replacement: "https" }],
  "metrics-path": [{ target_label: "__metrics_path__", replacement: "/probe path" }],
  blackbox: [
    { source_labels: ["__address__"], target_label: "__param_target" },
    { source_labels: ["__param_target"], target_label: "instance" },
    { target_label: "__address__", replacement: "127.0.0.1:9" },
  ],
  hashmod: [
    { source_labels: ["__address__"], modulus: 3, target_label: "__tmp_hash", action: "hashmod" },
    { source_labels: ["__tmp_hash"], regex: "1", action: "keep" },
  ],
  labelmap: [{ regex: "meta_(.+)", action: "labelmap" }],
  labeldrop: [{ regex: "meta_.+", action: "labeldrop" }],
  labelkeep: [{ regex: "__.*|job|team", action: "labelkeep" }],
  joined: [{ source_labels: ["team", "meta_zone"], separator: "/", target_label: "place" }],
  "other-job": [{ source_labels: ["team"], target_label: "job" }],
  "own-interval": [
    { target_label: "__scrape_interval__", replacement: "2s" },
    { target_label: "__scrape_timeout__", replacement: "500ms" },
  ],
  "bad-interval": [{ target_label: "__scrape_timeout__", replacement: "2h" }],
  "no-address": [
    { source_labels: ["team"], regex: "a", target_label: "__address__", replacement: "" },
  ],
  "with-slash": [{ target_label: "__address__", replacement: "http://host/x" }],
  lowercase: [{ source_labels: ["meta_zone"], target_label: "zone", action: "lowercase" }],
  keepequal: [{ source_labels: ["team"], target_label: "meta_zone", action: "keepequal" }],
  dropequal: [{ source_labels: ["team"], target_label: "meta_zone", action: "dropequal" }],
};

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  if (!("path" in found)) return;
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-discovery-"));
  stops.push(() => rm(folder, { recursive: true }));
  const exporter = await serve((_request, reply) => {
    reply.setHeader("content-type", "text/plain").end(page);
  });
  const list = await serve((_request, reply) => {
    const groups = [
      { targets: ["127.1.0.5:1", "127.1.0.6:2"], labels: { from: "http", __meta_own: "x" } },
      { targets: [] },
    ];
    reply.setHeader("content-type", "application/json").end(JSON.stringify(groups));
  });
  await writeFile(
    path.join(folder, "a.json"),
    JSON.stringify([{ targets: [exporter], labels: { file: "a" } }]),
  );
  await writeFile(
    path.join(folder, "b.yml"),
    `- targets: [${JSON.stringify(exporter)}]\n  labels: {file: b, n: "1"}\n- targets: ['127.1.0.7:1']\n`,
  );
  pair = await startScrapePair(found.path, {
    global: { scrape_interval: "1s", scrape_timeout: "1s" },
    scrape_configs: [
      ...Object.entries(relabelExamples).map(([name, rules]) => ({
        job_name: name,
        relabel_configs: rules,
        static_configs: [
          {
            targets: ["127.1.0.1:1", "127.1.0.1:1", "127.1.0.2"],
            labels: { team: "a", meta_zone: "EU" },
          },
          { targets: ["127.1.0.3:3", "[::1]:4"], labels: { team: "b", meta_zone: "b" } },
          { targets: ["localhost:5"], labels: { team: "c" } },
        ],
      })),
      {
        job_name: "files",
        file_sd_configs: [{ files: [`${folder}/*.json`, `${folder}/*.yml`] }],
      },
      {
        job_name: "http",
        http_sd_configs: [{ url: `http://${list}/sd?x=1`, refresh_interval: "1s" }],
      },
    ],
  });
  stops.unshift(() => pair.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

const inOrder = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1)));

/** For these Prometheus 2.42 shows the relabeled labels as the discovered ones. */
const jobsShownRelabelled = [
  "replace-scheme",
  "metrics-path",
  "labeldrop",
  "labelkeep",
  "other-job",
  "own-interval",
];

function summarizeTargets({ activeTargets, droppedTargets }: TargetLists, job: string) {
  return {
    active: activeTargets
      .filter(({ scrapePool }) => scrapePool === job)
      .map(({ discoveredLabels, labels, scrapeUrl, scrapeInterval, scrapeTimeout }) =>
        [
          scrapeUrl,
          inOrder(labels),
          jobsShownRelabelled.includes(job) ? "" : inOrder(discoveredLabels),
          scrapeInterval,
          scrapeTimeout,
        ].join(" "),
      )
      .sort(),
    dropped: droppedTargets
      .map(({ discoveredLabels }) => discoveredLabels)
      .filter((labels) => labels["job"] === job)
      .map(inOrder)
      .sort(),
  };
}

/** Waits until both report the same targets for a job, and returns them. */
async function agreedTargets(job: string) {
  return waitUntil(
    { what: `both to agree on the targets of ${job}`, timeoutMs: 30_000 },
    async () => {
      const [theirs, ours] = await pair.ask<TargetLists>(`/api/v1/targets?scrapePool=${job}`);
      const [prometheus, hub] = [summarizeTargets(theirs, job), summarizeTargets(ours, job)];
      for (const kind of ["active", "dropped"] as const) {
        const difference = differenceOf(prometheus[kind], hub[kind]);
        if (difference !== "") throw new Error(`${kind}: ${difference}`);
      }
      return prometheus.active.length + prometheus.dropped.length === 0 ? undefined : hub;
    },
  );
}

test.for(
  Object.keys(relabelExamples).filter((job) => !["bad-interval", "with-slash"].includes(job)),
)("relabelling: %s", async (job, context) => {
  toolOrSkip(context, "prometheus");
  const { active, dropped } = await agreedTargets(job);
  expect(active.length + dropped.length).toBeGreaterThan(0);
});

test("targets that cannot be scraped are no targets in either", async (context) => {
  toolOrSkip(context, "prometheus");
  await agreedTargets("keep");
  const [theirs, ours] = await pair.ask<TargetLists>("/api/v1/targets");
  for (const { activeTargets } of [theirs, ours])
    expect(
      activeTargets.filter(({ scrapePool }) => ["bad-interval", "with-slash"].includes(scrapePool)),
    ).toEqual([]);
});

test.for(["files", "http"])("discovery: %s", async (job, context) => {
  toolOrSkip(context, "prometheus");
  const { active } = await agreedTargets(job);
  expect(active.length).toBeGreaterThan(0);
});

test("what was discovered is shown as it was, whatever the rules made of it", async (context) => {
  toolOrSkip(context, "prometheus");
  const [, { activeTargets }] = await pair.ask<TargetLists>(
    "/api/v1/targets?scrapePool=own-interval",
  );
  expect(
    activeTargets.map(({ discoveredLabels }) => discoveredLabels["__scrape_interval__"]),
  ).toEqual(activeTargets.map(() => "1s"));
});

test("both know the same pools", async (context) => {
  toolOrSkip(context, "prometheus");
  const [theirs, ours] = await pair.ask("/api/v1/scrape_pools");
  expect(ours).toEqual(theirs);
});

test("a series that leaves its page ends in both, and so does a target that leaves its file", async (context) => {
  toolOrSkip(context, "prometheus");
  await pair.agree('goes{job="files"}', (lines) => lines.length === 2);
  page = "m 1\n";
  await pair.agree('goes{job="files"}', (lines) => lines.length === 0, 15_000);
  await pair.agree('m{job="files"}', (lines) => lines.length === 2);
  await writeFile(path.join(folder, "b.new"), "- targets: ['127.1.0.7:1']\n");
  await rename(path.join(folder, "b.new"), path.join(folder, "b.yml"));
  await agreedTargets("files");
  await pair.agree('{job="files",file="b"}', (lines) => lines.length === 0, 30_000);
  await pair.agree(
    '{job="files",file="a",__name__!="scrape_duration_seconds"}',
    (lines) => lines.length === 5,
  );
});

test("a broken file keeps its targets in both", async (context) => {
  toolOrSkip(context, "prometheus");
  await writeFile(path.join(folder, "a.json"), "[{");
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await pair.agree('up{job="files",file="a"}', ([line]) => line?.endsWith(" 1") === true);
  expect((await agreedTargets("files")).active.some((target) => target.includes("a.json"))).toBe(
    true,
  );
});
