// A receiver of Alertmanager webhooks on a loopback port: stores requests, and can go down and up again.

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";

import { freePort } from "./ports.ts";

export interface WebhookAlert {
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly fingerprint: string;
}

export interface WebhookPayload {
  readonly receiver: string;
  readonly status: string;
  readonly groupKey: string;
  readonly groupLabels: Readonly<Record<string, string>>;
  readonly commonLabels: Readonly<Record<string, string>>;
  readonly alerts: readonly WebhookAlert[];
}

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly payload: WebhookPayload;
}

export interface RunningWebhook {
  readonly url: string;
  readonly received: readonly ReceivedWebhook[];
  /** The response status; 200 by default. Requests are stored only if it is below 300. */
  answer: number;
  /** Stops listening. */
  down(): Promise<void>;
  /** Listens again on the same address. */
  up(): Promise<void>;
  stop(): Promise<void>;
}

export async function startWebhook(): Promise<RunningWebhook> {
  const port = await freePort();
  const received: ReceivedWebhook[] = [];
  let server: Server | undefined;
  const webhook = {
    url: `http://127.0.0.1:${port}`,
    received,
    answer: 200,
    up: async (): Promise<void> => {
      server = createServer((request, response) => {
        const parts: Buffer[] = [];
        request.on("data", (part: Buffer) => parts.push(part));
        request.on("end", () => {
          const payload = parsed(Buffer.concat(parts).toString("utf8"));
          // A foreign client, or a sender that was killed while sending: not a valid report.
          if (payload === undefined) return void response.writeHead(400).end();
          if (webhook.answer < 300)
            received.push({ path: request.url ?? "", headers: request.headers, payload });
          response.writeHead(webhook.answer).end();
        });
      });
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    down: async (): Promise<void> => {
      const closing = server;
      if (closing === undefined) return;
      server = undefined;
      closing.closeAllConnections();
      closing.close();
      await once(closing, "close");
    },
    stop: (): Promise<void> => webhook.down(),
  };
  await webhook.up();
  return webhook;
}

function parsed(text: string): WebhookPayload | undefined {
  try {
    return JSON.parse(text) as WebhookPayload;
  } catch {
    return undefined;
  }
}
