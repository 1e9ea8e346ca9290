/**
 * `gpulse doctor URL`: what a metrics page or a Prometheus provides: which GPU exporter, how many GPUs, which features work,
 * and the exporter settings for missing ones.
 */
import { formatError, GpulseError } from "../../base/error.ts";
import { ExporterFrames } from "../../formats/exporters/frames.ts";
import type { ExporterFrame } from "../../formats/exporters/targets.ts";
import { exporterNames, exporterTables } from "../../formats/exporters/list.ts";
import { ownExporter, ownGpuNames } from "../../formats/exporters/translate.ts";
import { formatOf, parsePage } from "../../formats/exposition/parse.ts";
import { SeriesMemory } from "../../formats/exposition/series-memory.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { withLabels } from "../../model/labels.ts";
import { presence } from "../../model/presence.ts";
import { type HttpResponse, request } from "../../net/http/request.ts";
import { batchOf } from "../../hub/exporters/prometheus.ts";
import { readResult } from "../../storage/remote/response.ts";

const timeoutMs = 15_000;
const maxBytes = 256 * 2 ** 20;

export interface ExporterFinding {
  readonly exporter: string;
  /** Versions reported on its pages; empty if none. */
  readonly versions: readonly string[];
  readonly gpus: number;
  readonly hosts: number;
  readonly models: readonly string[];
}

export interface FeatureFinding {
  readonly feature: string;
  readonly state: "works" | "partly" | "missing";
  /** Missing metrics, by gpulse's names. */
  readonly missing: readonly string[];
  /** Exporter settings that would add them. */
  readonly fixes: readonly string[];
}

export interface EndpointReport {
  readonly url: string;
  readonly kind: "metrics page" | "Prometheus";
  readonly exporters: readonly ExporterFinding[];
  readonly features: readonly FeatureFinding[];
}

const features: readonly (readonly [feature: string, needs: readonly MetricEntry[]])[] = [
  [
    "fleet page, heatmap, top",
    [gpu.utilization, gpu.memoryUsed, gpu.memoryTotal, gpu.power, gpu.temperature],
  ],
  ["energy and cost", [gpu.energy]],
  ["performance per watt", [gpu.power, gpu.clock]],
  [
    "true utilisation and what bounds a GPU",
    [gpu.smActivity, gpu.tensorActivity, gpu.dramActivity],
  ],
  [
    "power and temperature alerts with the device's own limits",
    [gpu.powerLimit, gpu.temperatureLimit],
  ],
  ["throttling", [gpu.throttleSeconds, gpu.throttleActive]],
  ["memory errors", [gpu.eccErrors, gpu.remappedRows]],
  ["PCIe problems", [gpu.pcieLinkWidth, gpu.pcieReplays]],
  ["owners of GPUs", [gpu.ownerInfo]],
];

export async function inspectEndpoint(url: string, nowMs: number): Promise<EndpointReport> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new GpulseError(
      "USAGE",
      `${url} is not the URL of a metrics page or a Prometheus, such as http://node-1:9400/metrics or http://prometheus:9090.`,
    );
  const { page, batch } = await readEndpoint(url, nowMs);
  const frames = new ExporterFrames().frames(batch);
  return {
    url,
    kind: page === undefined ? "Prometheus" : "metrics page",
    exporters: exportersOf(frames, versionsOf(batch)),
    features: featuresOf(frames),
  };
}

async function readEndpoint(
  url: string,
  nowMs: number,
): Promise<{ readonly page: HttpResponse | undefined; readonly batch: SampleBatch }> {
  try {
    const page = await fetchPage(url);
    const batch =
      page === undefined ? await readPrometheus(url, nowMs) : readPage(page, url, nowMs);
    return { page, batch };
  } catch (thrown) {
    if (thrown instanceof GpulseError) throw thrown;
    throw new GpulseError(
      "USAGE",
      `${url} cannot be read: ${formatError(thrown)}. Check the address, and that it answers without a login.`,
      { cause: thrown },
    );
  }
}

/** The metrics page, or undefined if the URL is not one. */
async function fetchPage(url: string): Promise<HttpResponse | undefined> {
  const response = await request(url, { timeoutMs, maxBytes });
  const start = response.body.toString("utf8", 0, 64);
  const isPage = response.status === 200 && /^\s*(#|[a-zA-Z_:]|\{")/.test(start);
  return isPage && !/^\s*(<|\{"status")/.test(start) ? response : undefined;
}

function readPage(page: HttpResponse, url: string, nowMs: number): SampleBatch {
  const builder = new BatchBuilder();
  const instance = new URL(url).host;
  const isOpenMetrics = formatOf(page.headers["content-type"]) === "openmetrics";
  try {
    parsePage(page.body, isOpenMetrics ? "openmetrics" : "text", new SeriesMemory<number>(), {
      open: (labels) => builder.series(withLabels(labels, { instance })),
      sample: (series, value) => builder.add(series, nowMs, value),
    });
  } catch (thrown) {
    throw new GpulseError("USAGE", `The page of ${url} cannot be read: ${formatError(thrown)}.`);
  }
  return builder.finish();
}

async function readPrometheus(url: string, nowMs: number): Promise<SampleBatch> {
  const names = [...exporterNames.keys(), ...ownGpuNames, ...buildInfos].map((name) =>
    name.replaceAll(".", "\\\\."),
  );
  const base = url.replace(/\/+$/, "");
  const response = await request(`${base}/api/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      query: `{__name__=~"${names.join("|")}"}[2m]`,
      time: String(nowMs / 1_000),
    }).toString(),
    timeoutMs,
    maxBytes,
  });
  if (response.status === 404)
    throw new GpulseError(
      "USAGE",
      `${url} is neither a metrics page nor a Prometheus: give the full path of the page, such as ${base}/metrics.`,
    );
  return batchOf(readResult(response).data);
}

const titleOf = (name: string): string =>
  exporterTables.find((table) => table.name === name)?.exporter ?? "gpulse agent";

const buildInfoOf = (name: string): string | undefined =>
  name === ownExporter
    ? "gpulse_build_info"
    : exporterTables.find((table) => table.name === name)?.buildInfo;

const buildInfos: readonly string[] = [
  ownExporter,
  ...exporterTables.map(({ name }) => name),
].flatMap((name) => buildInfoOf(name) ?? []);

/** Versions by the name of the info series that contains them. */
function versionsOf({ bytes, seriesCount, labelStarts, labelEnds }: SampleBatch) {
  const versions = new Map<string, Set<string>>();
  for (let at = 0; at < seriesCount; at++) {
    const labels = readLabelBlock(bytes, labelStarts[at] ?? 0, labelEnds[at] ?? 0);
    const { __name__: name = "", version } = Object.fromEntries(labels);
    if (version === undefined || version === "" || !buildInfos.includes(name)) continue;
    versions.set(name, (versions.get(name) ?? new Set()).add(version));
  }
  return versions;
}

function exportersOf(
  frames: readonly ExporterFrame[],
  versions: ReadonlyMap<string, ReadonlySet<string>>,
): ExporterFinding[] {
  const names = [...new Set(frames.map(({ exporter }) => exporter))];
  return names.map((name) => {
    const own = frames.filter(({ exporter }) => exporter === name);
    const devices = new Map(
      own.flatMap(({ host, devices: found }) =>
        found
          .filter(({ parent }) => parent === undefined)
          .map((device) => [`${host} ${device.uuid}`, device] as const),
      ),
    );
    return {
      exporter: titleOf(name),
      versions: [...(versions.get(buildInfoOf(name) ?? "") ?? [])].sort(),
      gpus: devices.size,
      hosts: new Set(own.map(({ host }) => host)).size,
      models: [...new Set([...devices.values()].map(({ model }) => model))].sort(),
    };
  });
}

function featuresOf(frames: readonly ExporterFrame[]): FeatureFinding[] {
  const there = new Set(
    frames.flatMap(({ frame }) =>
      frame.layout.series.flatMap(({ metric }, slot) =>
        frame.presence[slot] === presence.present ? [metric] : [],
      ),
    ),
  );
  const tables = exporterTables.filter(({ name }) =>
    frames.some(({ exporter }) => exporter === name),
  );
  return features.map(([feature, needs]) => {
    const missing = needs.filter((metric) => !there.has(metric));
    const fixes = tables.flatMap(({ advice = [] }) =>
      advice.flatMap(([metric, setting]) => (missing.includes(metric) ? [setting] : [])),
    );
    return {
      feature,
      state: missing.length === 0 ? "works" : missing.length < needs.length ? "partly" : "missing",
      missing: missing.map(({ name }) => name),
      fixes: [...new Set(fixes)],
    };
  });
}

export function formatEndpoint({ url, kind, exporters, features: found }: EndpointReport): string {
  const lines = [`${url}: ${kind}`, ""];
  if (exporters.length === 0)
    lines.push(
      "No GPU exporter that gpulse knows. Known: " +
        [...exporterTables.map(({ exporter }) => exporter), "gpulse agent"].join(", ") +
        ".",
    );
  for (const { exporter, versions, gpus, hosts, models } of exporters)
    lines.push(
      `${exporter}${versions.length === 0 ? "" : ` ${versions.join(", ")}`}: ${gpus} GPU${gpus === 1 ? "" : "s"} on ${hosts} host${hosts === 1 ? "" : "s"} (${models.join(", ")})${versions.length === 0 ? ", version not on its page" : ""}`,
    );
  if (exporters.length > 0) {
    lines.push("", "FEATURE");
    for (const { feature, state, missing, fixes } of found) {
      const what = missing.length === 0 ? "" : `: no ${missing.join(", ")}`;
      lines.push(`  ${state.padEnd(8)} ${feature}${what}`);
      for (const fix of fixes) lines.push(`             Fix: ${fix}`);
    }
    lines.push(
      "",
      kind === "Prometheus"
        ? `Show them: gpulse up --prometheus ${url}`
        : `Show them: scrape this page with a hub (gpulse hub --prometheus-config FILE)`,
    );
  }
  return `${lines.join("\n")}\n`;
}
