// A real Alertmanager and the built hub with the same alertmanager.yml, and one webhook server with a separate path for
// each.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { amtool, type RunningAlertmanager, startAlertmanager } from "../../engines/alertmanager.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { ensureBuild } from "../../engines/program.ts";
import { type RunningWebhook, startWebhook, type WebhookPayload } from "../../engines/webhook.ts";

export type Side = "alertmanager" | "hub";
export const sides: readonly Side[] = ["alertmanager", "hub"];

export interface AlertmanagerPair {
  readonly webhook: RunningWebhook;
  readonly alertmanager: RunningAlertmanager;
  readonly hub: RunningHub;
  readonly url: (side: Side) => string;
  /** The webhook payloads from one side. */
  readonly notifications: (side: Side) => readonly WebhookPayload[];
  stop(): Promise<void>;
}

export interface PairOptions {
  readonly alertmanager: string;
  /** Returns the configuration file for the webhooks' address. */
  readonly config: (webhook: string) => string;
  readonly hubArgs?: readonly string[];
}

export async function startAlertmanagerPair(options: PairOptions): Promise<AlertmanagerPair> {
  await ensureBuild();
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-alerts-"));
  const webhook = await startWebhook();
  const stops: (() => Promise<void>)[] = [
    () => rm(folder, { recursive: true, force: true }),
    () => webhook.stop(),
  ];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    const file = path.join(folder, "alertmanager.yml");
    await writeFile(file, options.config(`${webhook.url}/hub`));
    const alertmanager = await startAlertmanager(
      options.alertmanager,
      options.config(`${webhook.url}/alertmanager`),
    );
    stops.push(() => alertmanager.stop());
    const hub = await startHub({
      dataDir: path.join(folder, "data"),
      args: [`--alertmanager-config=${file}`, "--no-default-rules", ...(options.hubArgs ?? [])],
    });
    stops.push(() => hub.stop());
    return {
      webhook,
      alertmanager,
      hub,
      url: (side) => (side === "hub" ? hub.url : alertmanager.url),
      notifications: (side) =>
        webhook.received
          .filter((request) => request.path === `/${side}`)
          .map(({ payload }) => payload),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Replaces values that differ in every run: times, ids of silences, addresses. */
export function plain(text: string): string {
  return text
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, "URL")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replace(/\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?( ?UTC|Z)/g, "TIME");
}

export interface ToolResult {
  readonly code: number | null;
  readonly out: string;
}

/** amtool's output for one side, normalised for comparison. */
export async function amtoolOn(
  program: string,
  pair: AlertmanagerPair,
  side: Side,
  args: readonly string[],
): Promise<ToolResult & { readonly raw: string }> {
  const { code, stdout, stderr } = await amtool(program, pair.url(side), args);
  return { code, raw: stdout, out: plain(`${stdout}${stderr}`) };
}
