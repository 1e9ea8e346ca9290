/** For the tests of channels: a service on loopback that records, a notification with everything in it, and receivers from a text. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { fingerprintOf } from "../route/fingerprint.ts";
import { parseRouting } from "../route/config.ts";
import { type Notification, type NotifiedAlert, NotifyError } from "../route/notification.ts";
import { type Log, silentLog } from "../../base/log.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import type { Environment } from "./environment.ts";
import { openReceivers, type ReceiverSet } from "./open.ts";

export const startMs = 1_700_000_000_000;

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface FakeService {
  readonly url: string;
  readonly port: number;
  readonly requests: RecordedRequest[];
  answer: (request: RecordedRequest) => {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  };
  close(): Promise<void>;
}

export async function startFakeService(port = 0): Promise<FakeService> {
  const server = http.createServer((incoming, outgoing) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const { method = "", url = "", headers } = incoming;
      const request = { method, path: url, headers, text: Buffer.concat(parts).toString("utf8") };
      service.requests.push(request);
      const { status, headers: answered, body } = service.answer(request);
      outgoing.writeHead(status, answered).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const listening = (server.address() as AddressInfo).port;
  const service: FakeService = {
    url: `http://127.0.0.1:${listening}`,
    port: listening,
    requests: [],
    answer: () => ({ status: 200, body: "ok" }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return service;
}

export function alertOf(
  labels: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>> = {},
  status: "firing" | "resolved" = "firing",
): NotifiedAlert {
  const map = new Map(Object.entries(labels));
  return {
    status,
    labels: map,
    annotations,
    startsAtMs: startMs,
    endsAtMs: startMs + 600_000,
    updatedAtMs: startMs,
    generatorUrl: "http://hub.example:9090/graph?g0.expr=up%3D%3D0",
    timeout: false,
    fingerprint: fingerprintOf(map),
  };
}

export function notificationOf(
  alerts: readonly NotifiedAlert[],
  more: Partial<Notification> = {},
): Notification {
  return {
    receiver: "ops.team",
    groupKey: '{}:{alertname="GpuHot"}',
    groupLabels: new Map([["alertname", "GpuHot"]]),
    status: alerts.some(({ status }) => status === "firing") ? "firing" : "resolved",
    idempotencyKey: "0123456789abcdef0123456789abcdef",
    externalUrl: "http://hub.example:9090",
    alerts,
    ...more,
  };
}

export const twoAlerts = notificationOf([
  alertOf(
    { alertname: "GpuHot", host: "node-7", gpu: "0", severity: "critical" },
    {
      summary: "GPU 0 on node-7 is at 92 °C",
      description: "Within 5 °C of its limit; check <fans> & airflow.",
      runbook_url: "https://docs.example/gpu-hot",
    },
  ),
  alertOf(
    { alertname: "GpuHot", host: "node-7", gpu: "1", severity: "critical" },
    { summary: "GPU 1 on node-7 was at 91 °C" },
    "resolved",
  ),
]);

/** Receivers of a file with one receiver, `ops.team`, that has these entries. */
export async function openEntries(
  entries: string,
  options: {
    readonly env?: Environment;
    readonly global?: string;
    readonly log?: Log;
    readonly file?: string;
    readonly clock?: FakeClock;
    readonly templates?: string;
  } = {},
): Promise<ReceiverSet> {
  const source = `global: ${options.global ?? "{}"}
templates: ${options.templates ?? "[]"}
route: { receiver: ops.team }
receivers:
  - name: ops.team
${entries.replace(/^(?=.)/gm, "    ")}`;
  const file = options.file ?? "alertmanager.yml";
  return openReceivers(await parseRouting(source, file), {
    file,
    env: options.env ?? {},
    log: options.log ?? silentLog,
    clock: options.clock ?? new FakeClock(startMs),
  });
}

/** Sends by the first way of the receiver; gives what went wrong, or undefined. */
export async function sendBy(
  receivers: ReceiverSet,
  notification: Notification = twoAlerts,
  signal: AbortSignal = AbortSignal.timeout(9_000),
): Promise<NotifyError | undefined> {
  try {
    await receivers.integrations("ops.team")[0]?.send(notification, signal);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof NotifyError) return thrown;
    throw thrown;
  }
}
