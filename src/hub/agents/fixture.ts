/** A hub without its port and an agent of one GPU, for this folder's tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach } from "vitest";
import { capabilities } from "../../formats/frames/push-response.ts";
import { encodeDevices } from "../../formats/frames/devices.ts";
import { FrameEncoder } from "../../formats/frames/frame.ts";
import { encodeHello, type Hello } from "../../formats/frames/hello.ts";
import { decodeLayout, encodeLayout } from "../../formats/frames/layout.ts";
import { encodeMetric } from "../../formats/frames/metric.ts";
import { contentType, recordKind, RequestWriter } from "../../formats/frames/request.ts";
import { type Log, silentLog } from "../../base/log.ts";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { buildHub } from "../hub.ts";
import { openStorage } from "../storage.ts";
import type { Agents } from "./agents.ts";
import { openAgents } from "./open.ts";

export const startMs = 1_800_000_000_000;
const folders: string[] = [];
/** What a test closes itself it takes out. */
export const closes: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closes.splice(0)) await close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

export function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-agents-"));
  folders.push(folder);
  return folder;
}

/** A hub without its port on a folder, whose clock a test moves. */
export async function openHub(dir = newFolder(), log: Log = silentLog) {
  const clock = { nowMs: startMs, setByMs: 0 };
  const nowMs = (): number => clock.nowMs + clock.setByMs;
  const storage = await openStorage({
    dir,
    retentionMs: 30 * 86_400_000,
    log: silentLog,
    nowMs,
    version: "9.9.9",
  });
  const latest = new LatestFrames();
  const agents: Agents = openAgents({
    history: storage.history,
    show: (delivery) => latest.write(delivery),
    log,
    nowMs,
    trustedNowMs: () => clock.nowMs,
    monotonicMs: () => clock.nowMs,
    oldestSampleMs: () => clock.nowMs - 30 * 86_400_000,
    version: "9.9.9",
    retentionMs: 30 * 86_400_000,
    dataDir: dir,
    manual: true,
  });
  const app = await buildHub({
    latest,
    host: "127.0.0.1",
    port: 0,
    hostName: "hub",
    webDir: dir,
    log: silentLog,
    nowMs,
    version: "9.9.9",
    metricsPage: () => ({ body: "", contentType: "text/plain" }),
    stats: () => ({}),
    ready: () => ({ ready: true, problems: agents.problems() }),
    api: { ...storage.api, agents },
  });
  const close = async (): Promise<void> => {
    await app.close();
    await agents.close();
    await storage.close();
  };
  closes.push(close);
  const push = async (body: Buffer, headers: Record<string, string> = {}) => {
    const answer = await app.inject({
      method: "POST",
      url: "/api/push/v1",
      headers: { host: "localhost", "content-type": contentType, ...headers },
      payload: body,
    });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  const get = async (url: string): Promise<unknown> =>
    (await app.inject({ url, headers: { host: "localhost" } })).json();
  const values = async (query: string): Promise<readonly (readonly [string, string])[]> => {
    const route = `/api/v1/query?time=${clock.nowMs / 1_000}&query=${encodeURIComponent(query)}`;
    const said = (await get(route)) as {
      data: { result: { metric: Record<string, string>; value: [number, string] }[] };
    };
    return said.data.result
      .map(({ metric, value }) => [metric["instance"] ?? "", value[1]] as const)
      .sort(([left], [right]) => (left < right ? -1 : 1));
  };
  const remove = (url: string) =>
    app.inject({ method: "DELETE", url, headers: { host: "localhost" } });
  return { clock, storage, latest, agents, push, get, values, remove, close };
}

export const device: Device = {
  uuid: "GPU-1",
  index: 0,
  vendor: "nvidia",
  model: "H200",
  simulated: true,
};

/** An agent of one GPU and one metric, as simple as can be. */
export class SmallAgent {
  readonly devices = encodeDevices([device]);
  readonly layout: ReturnType<typeof encodeLayout>;
  readonly #resolutions: Float64Array;
  readonly #name: string;
  readonly #metric: MetricEntry;
  session = "first";

  constructor(name = "lab:9400", metric: MetricEntry = gpu.power, host = "lab") {
    this.#name = name;
    this.#metric = metric;
    const builder = new LayoutBuilder();
    builder.add(metric, deviceLabels(device, host));
    this.layout = encodeLayout(builder.build());
    this.#resolutions = decodeLayout(this.layout.content).resolutions;
  }

  request(
    frames: readonly (readonly [sequence: number, timeMs: number, value: number])[],
    parts: {
      readonly define?: boolean;
      readonly describe?: boolean;
      readonly goodbye?: boolean;
      readonly hello?: Partial<Hello>;
    } = {},
  ): Buffer {
    const writer = new RequestWriter();
    const hello: Hello = {
      agent: this.#name,
      session: this.session,
      version: "1.0.0",
      host: "lab",
      job: "gpulse",
      instance: this.#name,
      sentMs: startMs,
      roundTripMs: 0,
      intervalMs: 5_000,
      spool: { records: 0, bytes: 0, lost: 0 },
      capabilities,
      ...parts.hello,
    };
    writer.record(recordKind.hello, encodeHello(hello));
    if (parts.describe === true) writer.record(recordKind.metric, encodeMetric(this.#metric));
    if (parts.define === true) {
      writer.record(recordKind.layout, this.layout.content);
      writer.record(recordKind.devices, this.devices.content);
    }
    const encoder = new FrameEncoder();
    for (const [sequence, timeMs, value] of frames) {
      const frame = {
        sequence,
        layout: this.layout.hash,
        devices: this.devices.hash,
        source: "sim",
        host: "",
        tier: "fast",
        freshForMs: 5_000,
        timeMs,
        presence: Uint8Array.of(presence.present),
        values: Float64Array.of(value),
      } as const;
      writer.record(recordKind.frame, encoder.encode(frame, this.#resolutions));
    }
    if (parts.goodbye === true) writer.record(recordKind.goodbye, Buffer.alloc(0));
    return writer.finish();
  }
}
