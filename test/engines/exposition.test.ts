// A real Prometheus scrapes every example page: it accepts and rejects the same pages as our parser, and stores the same
// series.

import http from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { startPrometheus } from "../../engines/prometheus.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { parsePage } from "../../src/formats/exposition/parse.ts";
import { SeriesMemory } from "../../src/formats/exposition/series-memory.ts";
import type { LabelSet } from "../../src/model/labels.ts";
import { openMetricsPages, type PageExample, textPages } from "../exposition/pages.ts";

interface ScrapedTarget {
  readonly labels: Readonly<Record<string, string>>;
  readonly health: string;
  readonly lastError: string;
}

const pages = [...textPages, ...openMetricsPages].filter(({ since3 }) => since3 === undefined);
const contentTypes = {
  text: "text/plain; version=0.0.4",
  openmetrics: "application/openmetrics-text; version=1.0.0",
};

async function servePages(): Promise<{ readonly address: string; close(): void }> {
  const server = http.createServer((asked, answer) => {
    const example = pages[Number((asked.url ?? "").slice(1))];
    if (example === undefined) return void answer.writeHead(404).end();
    answer.writeHead(200, { "content-type": contentTypes[example.format] }).end(example.page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** Each series with its value as text, sorted; undefined if the page is rejected. */
function ours({ page, format }: PageExample): string[] | undefined {
  const seen: string[] = [];
  try {
    parsePage(Buffer.from(page), format, new SeriesMemory<LabelSet>(), {
      open: (labels) => labels,
      sample: (labels, value) => seen.push(formatSample(Object.fromEntries(labels), value)),
    });
  } catch {
    return undefined;
  }
  return seen.sort();
}

function formatSample(labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1));
  return `${JSON.stringify(pairs)} ${value}`;
}

const numberOf = (text: string): number =>
  text.endsWith("Inf") ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text);

test("a real Prometheus reads every page as we do", { timeout: 120_000 }, async (context) => {
  const path = toolOrSkip(context, "prometheus");
  const server = await servePages();
  const prometheus = await startPrometheus({
    path,
    config: {
      scrape_configs: [
        {
          job_name: "pages",
          scrape_interval: "2s",
          scrape_timeout: "2s",
          // Prometheus's store, not its parser, would reject old timestamps.
          honor_timestamps: false,
          static_configs: pages.map((_, index) => ({
            targets: [server.address],
            labels: { __metrics_path__: `/${index}`, page: String(index) },
          })),
        },
      ],
    },
  });
  try {
    const targets = await waitUntil({ what: "every page scraped", timeoutMs: 60_000 }, async () => {
      const answer = await fetch(`${prometheus.url}/api/v1/targets?state=active`);
      const { data } = (await answer.json()) as { data: { activeTargets: ScrapedTarget[] } };
      const { activeTargets } = data;
      const isDone = activeTargets.every(({ health }) => health !== "unknown");
      return isDone && activeTargets.length === pages.length ? activeTargets : undefined;
    });
    const stored = await prometheus.query('{page=~".+",__name__!~"up|scrape_.*"}');
    const theirs = pages.map((_, index) => {
      const target = targets.find(({ labels }) => labels["page"] === String(index));
      if (target?.health !== "up") return undefined;
      return stored
        .filter(({ metric }) => metric["page"] === String(index))
        .map(({ metric: { page: _page, job: _job, instance: _instance, ...labels }, value }) =>
          formatSample(labels, numberOf(value[1])),
        )
        .sort();
    });
    const differing = pages.flatMap((example, index) => {
      const [our, their] = [ours(example), theirs[index]];
      return JSON.stringify(our) === JSON.stringify(their)
        ? []
        : [{ says: example.says, our, their }];
    });
    expect(differing).toEqual([]);
    expect(theirs.filter((one) => one === undefined).length).toBeGreaterThan(20);
  } finally {
    await prometheus.stop();
    server.close();
  }
});
