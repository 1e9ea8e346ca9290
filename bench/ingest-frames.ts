/** The same fleet as pushed by agents: one agent per host with eight GPUs, a frame per instant. */
import { labelValue, noLabels } from "../src/model/labels.ts";
import type { MetricEntry } from "../src/model/catalogue/index.ts";
import { type Layout, LayoutBuilder } from "../src/model/layout.ts";
import { presence } from "../src/model/presence.ts";
import { encodeDevices, encodeLayout, resolutionOf } from "../src/formats/frames/layout.ts";
import { FrameEncoder } from "../src/formats/frames/frame.ts";
import { encodeHello } from "../src/formats/frames/hello.ts";
import { encodeMetric } from "../src/formats/frames/metric.ts";
import { contentType, recordKind, RequestWriter } from "../src/formats/frames/request.ts";
import { seriesPerGpu } from "./hub-data.ts";
import { gpus, type IngestFleet, type IngestPath, senders } from "./ingest-paths.ts";

const gpusPerHost = 8;
const perHost = gpusPerHost * seriesPerGpu;

/** @param framesPerRequest one in normal operation, more from a spool after an outage */
export function framesPath(name: string, fleet: IngestFleet, framesPerRequest: number): IngestPath {
  const hosts = Math.floor(gpus / gpusPerHost);
  const bySender = Array.from({ length: senders }, (): Buffer[] => []);
  const agents = Array.from({ length: hosts }, (_, host) => new BenchAgent(fleet, host));
  for (let step = 0; step < fleet.rows.length; step += framesPerRequest)
    agents.forEach((agent, host) =>
      bySender[host % senders]?.push(
        agent.request(step, Math.min(step + framesPerRequest, fleet.rows.length)),
      ),
    );
  return {
    name,
    path: "/api/push/v1",
    headers: { "content-type": contentType },
    senders: bySender,
    samples: hosts * perHost * fleet.rows.length,
  };
}

class BenchAgent {
  readonly #fleet: IngestFleet;
  readonly #host: number;
  readonly #layout: Layout;
  readonly #definition: ReturnType<typeof encodeLayout>;
  readonly #devices = encodeDevices([]);
  readonly #resolutions: Float64Array;

  constructor(fleet: IngestFleet, host: number) {
    this.#fleet = fleet;
    this.#host = host;
    const builder = new LayoutBuilder();
    for (const labels of fleet.series.slice(host * perHost, (host + 1) * perHost)) {
      const own = labels.filter(([name]) => !["__name__", "job", "instance"].includes(name));
      builder.add(metricNamed(labelValue(labels, "__name__") ?? ""), own);
    }
    this.#layout = builder.build();
    this.#definition = encodeLayout(this.#layout);
    this.#resolutions = Float64Array.from(this.#layout.series, ({ metric, suffix }) =>
      resolutionOf(suffix, metric.resolution),
    );
  }

  request(from: number, to: number): Buffer {
    const { timesMs, rows } = this.#fleet;
    const host = `node-${this.#host}`;
    const writer = new RequestWriter();
    const hello = encodeHello({
      agent: host,
      session: "bench",
      version: "1.0.0",
      host,
      job: "gpulse",
      instance: `${host}:9400`,
      sentMs: Date.now(),
      intervalMs: 1_000,
      spool: { records: 0, bytes: 0, lost: 0 },
      capabilities: [],
    });
    writer.record(recordKind.hello, hello);
    // Sent once; a restarted hub requests it again.
    if (from === 0) this.#define(writer);
    const encoder = new FrameEncoder();
    for (let step = from; step < to; step++) {
      const values = (rows[step] ?? new Float64Array()).slice(
        this.#host * perHost,
        (this.#host + 1) * perHost,
      );
      const frame = {
        sequence: step + 1,
        layout: this.#definition.hash,
        devices: this.#devices.hash,
        source: "bench",
        host: "",
        tier: "fast",
        freshForMs: 5_000,
        timeMs: timesMs[step] ?? 0,
        presence: new Uint8Array(values.length).fill(presence.present),
        values,
      } as const;
      writer.record(recordKind.frame, encoder.encode(frame, this.#resolutions));
    }
    return writer.finish();
  }

  #define(writer: RequestWriter): void {
    const metrics = new Map(this.#layout.series.map(({ metric }) => [metric.name, metric]));
    for (const metric of metrics.values()) writer.record(recordKind.metric, encodeMetric(metric));
    writer.record(recordKind.layout, this.#definition.content);
    writer.record(recordKind.devices, this.#devices.content);
  }
}

const known = new Map<string, MetricEntry>();

/** The resolution of the fleet's values. */
function metricNamed(name: string): MetricEntry {
  let metric = known.get(name);
  if (metric === undefined) {
    const resolution = /power_watts|energy/.test(name)
      ? 0.1
      : /utilization/.test(name)
        ? 0.01
        : /bytes/.test(name)
          ? 1_048_576
          : /hertz/.test(name)
            ? 1e6
            : 1;
    metric = {
      name,
      kind: "gauge",
      unit: "none",
      help: "",
      subject: "self",
      tier: "fast",
      resolution,
      plausible: [0, Number.MAX_VALUE],
      labels: noLabels.map(([label]) => ({ name: label, help: "" })),
      given: {},
    };
    known.set(name, metric);
  }
  return metric;
}
