// Pages and scrape options that are easy to get wrong, one job each, scraped by a real Prometheus and by the built hub
// with the same prometheus.yml: every series of every job must be the same in both, including scrape metrics and values.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { differenceOf, type ScrapePair, startScrapePair } from "./scrape-pair.ts";

interface Row {
  readonly job: string;
  readonly page: string | ((request: IncomingMessage, reply: ServerResponse) => void);
  readonly type?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  /** Number of targets with this page. */
  readonly copies?: number;
  readonly up?: 0 | 1;
}

const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const labelled = 'm{job="page",instance="page",a="b"} 1\n';
const relabelled = (...rules: readonly object[]) => ({ metric_relabel_configs: rules });
const many = Array.from({ length: 20 }, (_, at) => `s{n="${at}"} ${at}\n`).join("");
const echo = (request: IncomingMessage, reply: ServerResponse): void => {
  const { authorization = "", accept = "" } = request.headers;
  const timeout = request.headers["x-prometheus-scrape-timeout-seconds"];
  const said = { url: request.url ?? "", authorization, accept, timeout: String(timeout) };
  const labels = Object.entries(said).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  reply
    .setHeader("content-type", "text/plain; version=0.0.4")
    .end(`asked{${labels.join(",")}} 1\n`);
};

const ROWS: readonly Row[] = [
  { job: "hexadecimal", page: 'a 1\nb{x="y"} -2.5e3\nc NaN\nd +Inf\ne -Inf\nf 0x10\n', up: 0 },
  { job: "numbers", page: 'a 1\nb{x="y"} -2.5e3\nc NaN\nd +Inf\ne -Inf\nf 1e300\n' },
  { job: "escapes", page: 'a{x="q\\"b\\\\n\\nz",y="ü→"} 1\n' },
  { job: "empty", page: "" },
  { job: "comments", page: "# a remark\n\n# HELP a Help.\n# TYPE a counter\na \t 1 \t\n" },
  { job: "no-newline", page: "a 1" },
  { job: "target-wins", page: labelled },
  { job: "page-wins", page: labelled, config: { honor_labels: true } },
  { job: "page-empties", page: 'm{instance="",a=""} 1\n', config: { honor_labels: true } },
  { job: "page-empty-loses", page: 'm{instance="",a=""} 1\n' },
  {
    job: "exported-twice",
    page: 'm{job="page",exported_job="also",exported_exported_job="x"} 1\n',
  },
  { job: "old-times", page: `m 1 ${Date.now() - 60_000}\n` },
  { job: "times-not-honoured", page: "m 1 1000\n", config: { honor_timestamps: false } },
  { job: "future-times", page: () => undefined, up: 1 },
  { job: "twice", page: "m 1\nm 2\nn 3\n" },
  { job: "other-order", page: 'm{a="1",b="2"} 1\nm{b="2",a="1"} 1\n' },
  { job: "broken-line", page: "m 1\nm{ 2\n", up: 0 },
  { job: "broken-name", page: "1m 1\n", up: 0 },
  {
    job: "open-metrics",
    type: openMetrics,
    page: '# TYPE m counter\n# UNIT m_seconds seconds\n# HELP m_seconds x\nm_total{a="b"} 5 # {trace_id="x"} 0.5 1.5\nn 3 1600000000.5\n# EOF\n',
  },
  { job: "open-metrics-cut", type: openMetrics, page: "m 1\n", up: 0 },
  { job: "html", type: "text/html", page: "m 1\n" },
  { job: "no-type", type: "", page: "m 1\n" },
  { job: "sample-limit-met", page: many, config: { sample_limit: 20 } },
  { job: "sample-limit", page: many, config: { sample_limit: 19 }, up: 0 },
  {
    job: "sample-limit-after-rules",
    page: many,
    config: {
      sample_limit: 1,
      ...relabelled({ source_labels: ["n"], regex: "7", action: "keep" }),
    },
  },
  { job: "label-limit", page: 'm{a="1"} 1\n', config: { label_limit: 3 }, up: 0 },
  { job: "label-limit-met", page: 'm{a="1"} 1\n', config: { label_limit: 4 } },
  {
    job: "label-name-limit",
    page: 'm{long_name_here="1"} 1\n',
    config: { label_name_length_limit: 10 },
    up: 0,
  },
  {
    job: "label-value-limit",
    page: 'm{a="0123456789012345678901234567890123456789"} 1\n',
    config: { label_value_length_limit: 30 },
    up: 0,
  },
  { job: "body-limit", page: many, config: { body_size_limit: "100B" }, up: 0 },
  { job: "target-limit", page: "m 1\n", copies: 2, config: { target_limit: 1 }, up: 0 },
  { job: "error-500", page: (_request, reply) => void reply.writeHead(500).end("m 1\n"), up: 0 },
  { job: "slow", page: () => undefined, config: { scrape_timeout: "200ms" }, up: 0 },
  {
    job: "redirected",
    page: (request, reply) =>
      void (request.url === "/metrics/here"
        ? reply.setHeader("content-type", "text/plain").end("m 1\n")
        : reply.writeHead(302, { location: "/metrics/here" }).end()),
  },
  {
    job: "zipped",
    page: (_request, reply) =>
      void reply
        .writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" })
        .end(gzipSync(many)),
  },
  {
    job: "asked",
    page: echo,
    config: {
      params: { module: ["a b", "c"], "x&y": ["*~'()!"] },
      basic_auth: { username: "u", password: "p" },
    },
  },
  {
    job: "bearer",
    page: echo,
    config: { authorization: { credentials: "let-me-in" }, metrics_path: "/some path" },
  },
  {
    job: "drop-names",
    page: "keep_me 1\ngo_x 2\ngo_y 3\n",
    config: relabelled({ source_labels: ["__name__"], regex: "go_.*", action: "drop" }),
  },
  {
    job: "rename",
    page: "old_name 1\n",
    config: relabelled({
      source_labels: ["__name__"],
      regex: "old_(.*)",
      target_label: "__name__",
      replacement: "new_$1",
    }),
  },
  {
    job: "label-drop",
    page: 'm{a="1",b="2"} 1\n',
    config: relabelled({ regex: "b", action: "labeldrop" }),
  },
  {
    job: "label-keep",
    page: 'm{a="1",b="2"} 1\n',
    config: relabelled({ regex: "__name__|job|a", action: "labelkeep" }),
  },
  {
    job: "label-map",
    page: 'm{k8s_pod="p",k8s_ns="n"} 1\n',
    config: relabelled({ regex: "k8s_(.+)", action: "labelmap" }),
  },
  {
    job: "hash-mod",
    page: many,
    config: relabelled(
      { source_labels: ["n"], modulus: 4, target_label: "__tmp", action: "hashmod" },
      { source_labels: ["__tmp"], regex: "2", action: "keep" },
    ),
  },
  {
    job: "cases",
    page: 'm{a="MiXed"} 1\n',
    config: relabelled(
      { source_labels: ["a"], target_label: "lower", action: "lowercase" },
      { source_labels: ["a"], target_label: "upper", action: "uppercase" },
    ),
  },
  {
    job: "equal",
    page: 'm{a="x",b="x"} 1\nm{a="x",b="y"} 2\n',
    config: relabelled({ source_labels: ["a"], target_label: "b", action: "keepequal" }),
  },
  {
    job: "joined",
    page: 'm{a="x",b="y"} 1\n',
    config: relabelled({ source_labels: ["a", "b"], separator: "-", target_label: "c" }),
  },
  {
    job: "emptied",
    page: 'm{a="x",b="y"} 1\n',
    config: relabelled({ target_label: "b", replacement: "" }),
  },
  {
    job: "nameless",
    page: "m 1\n",
    config: relabelled({ regex: "__name__", action: "labeldrop" }),
    up: 0,
  },
  {
    job: "merged-by-rules",
    page: 'm{a="1"} 1\nm{a="2"} 1\n',
    config: relabelled({ regex: "a", action: "labeldrop" }),
  },
];

const found = findTool("prometheus");
const stops: (() => Promise<void>)[] = [];
let pair: ScrapePair;

async function servePage({ page, type = "text/plain; version=0.0.4" }: Row): Promise<string> {
  const server = createServer((request, reply) => {
    if (typeof page === "function") {
      page(request, reply);
      return;
    }
    if (type !== "") reply.setHeader("content-type", type);
    reply.end(page);
  });
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
  const jobs = await Promise.all(
    ROWS.map(async (row) => {
      const { copies = 1, config } = row;
      const address = await servePage(
        row.job === "future-times"
          ? {
              ...row,
              page: (_request, reply) =>
                void reply
                  .setHeader("content-type", "text/plain")
                  .end(`late 1 ${Date.now() + 3_600_000}\nsoon 2 ${Date.now() - 1_000}\nnow 3\n`),
            }
          : row,
      );
      return {
        job_name: row.job,
        static_configs: Array.from({ length: copies }, (_, copy) => ({
          targets: [address],
          labels: copies > 1 ? { copy: String(copy) } : {},
        })),
        ...config,
      };
    }),
  );
  pair = await startScrapePair(found.path, {
    global: { scrape_interval: "1s", scrape_timeout: "1s" },
    scrape_configs: jobs,
  });
  stops.unshift(() => pair.stop());
  await pair.agree(
    "count(count_over_time(up[2m]) >= 3)",
    ([line]) => line === `{} ${ROWS.length + 1}`,
    90_000,
  );
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

test.for(ROWS)("$job", async ({ job, up = 1 }, context) => {
  toolOrSkip(context, "prometheus");
  await pair.agree(
    `{job=~"${job}|page",instance!="",__name__!="scrape_duration_seconds"} or {job="${job}",__name__!="scrape_duration_seconds"}`,
    (lines) => lines.some((line) => line.includes(`"up"`) && line.includes(`"${job}"`)),
  );
  const lines = await pair.agree(`up{job="${job}"}`);
  expect(lines.every((line) => line.endsWith(` ${up}`))).toBe(true);
});

test("the times of the samples are the pages' own where they are honoured, and the scrapes' where not", async (context) => {
  toolOrSkip(context, "prometheus");
  await pair.agree('timestamp(m{job="old-times"})');
  await pair.agree('timestamp(n{job="open-metrics"})', () => true);
  await pair.agree(
    'time() - timestamp(m{job="times-not-honoured"}) < bool 5',
    ([line]) => line?.endsWith(" 1") === true,
  );
});

test("both give the same number of series in all", async (context) => {
  toolOrSkip(context, "prometheus");
  await waitUntil({ what: "the same series", timeoutMs: 30_000 }, async () => {
    const [theirs, ours] = await pair.query('count by (__name__) ({__name__=~".+"})');
    const difference = differenceOf(theirs, ours);
    if (difference !== "") throw new Error(difference);
    return true;
  });
});
