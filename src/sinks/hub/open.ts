/** Opens a sink that pushes to a hub, from the hub's address and credentials. */
import { createHash } from "node:crypto";
import path from "node:path";
import { GpulseError } from "../../base/error.ts";
import type { HttpClientConfig } from "../../net/http/auth-config.ts";
import { HttpClient } from "../../net/http/client.ts";
import { formatUrl } from "../../net/http/request.ts";
import { Secret } from "../../net/http/secret.ts";
import type { Sink, SinkContext } from "../../pipeline/sink.ts";
import { HubRelay } from "./relay.ts";
import { HubSink } from "./sink.ts";

export interface HubAddress {
  /** For example `http://hub:9410`, with a path if the hub has one. */
  readonly url: string;
  /** The token, or `file:PATH`, which is read again when the file changes. */
  readonly token?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly job?: string;
  readonly instance?: string;
  readonly intervalMs: number;
  readonly spoolMaxBytes: number;
  readonly spoolAgeMs: number;
}

export type HubSinkContext = Pick<
  SinkContext,
  "log" | "clock" | "random" | "hostName" | "spoolDir" | "version" | "waits"
> & { readonly identity: { readonly job: string; readonly instance: string } };

export function openHubSink(address: HubAddress, context: HubSinkContext): HubSink {
  const url = pushUrl(address.url);
  const instance = address.instance ?? context.identity.instance;
  const { log, clock, random } = context;
  return new HubSink({
    name: `hub ${url.host}`,
    url: url.href,
    http: new HttpClient(clientConfig(address)),
    identity: {
      agent: instance,
      version: context.version,
      host: context.hostName,
      job: address.job ?? context.identity.job,
      instance,
    },
    intervalMs: address.intervalMs,
    spool: {
      dir: path.join(context.spoolDir, folderOf(instance, url)),
      maxBytes: address.spoolMaxBytes,
      maxAgeMs: address.spoolAgeMs,
    },
    ...(context.waits !== undefined && { waits: context.waits }),
    clock,
    random,
    log,
  });
}

/**
 * For a hub that forwards to another hub: frames are sent unchanged, everything else by remote-write with the same
 * credentials.
 */
export async function openHubRelay(address: HubAddress, context: SinkContext): Promise<Sink> {
  const identity = { job: "gpulse-hub", instance: `${context.hostName}:9410` };
  const frames = openHubSink(address, { ...context, identity });
  const { url, token, caFile, certFile, keyFile } = address;
  const write = new URL(pushUrl(url).href.replace(/\/api\/push\/v1$/, "/api/v1/write"));
  const { openSink } = await import("../open.ts");
  const samples = await openSink(
    {
      [`remote-write+${write.protocol.slice(0, -1)}`]: {
        url: `//${write.host}${write.pathname}`,
        version: "2",
        spool_bytes: address.spoolMaxBytes,
        spool_age: `${Math.round(address.spoolAgeMs / 1_000)}s`,
        ...(token?.startsWith("file:") === true && {
          bearer_token_file: token.slice("file:".length),
        }),
        ...(token !== undefined && !token.startsWith("file:") && { bearer_token: token }),
        ...(caFile !== undefined && { ca_file: caFile }),
        ...(certFile !== undefined && { cert_file: certFile }),
        ...(keyFile !== undefined && { key_file: keyFile }),
      },
    },
    context,
  );
  return new HubRelay(frames, samples, address.instance ?? identity.instance);
}

/** @throws GpulseError if `text` is not the address of a hub. */
export function pushUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.host === "")
    throw new GpulseError("USAGE", `"${text}" is not a hub: write http://HOST:9410 or https://….`);
  if (url.username !== "" || url.search !== "")
    throw new GpulseError(
      "USAGE",
      `The address of a hub must not have a user or query (${formatUrl(url)}): give the token with --token.`,
    );
  url.pathname = `${url.pathname.replace(/\/$/, "")}/api/push/v1`;
  return url;
}

/** A readable and unique folder name for each pair of sender and hub. */
function folderOf(instance: string, url: URL): string {
  const readable = `${instance}-to-${url.host}`.replaceAll(/[^\w.-]/g, "_").slice(0, 100);
  const hash = createHash("sha256").update(`${instance}\n${url.href}`).digest("hex").slice(0, 8);
  return `${readable}-${hash}`;
}

function clientConfig({ token, caFile, certFile, keyFile }: HubAddress): HttpClientConfig {
  const authorization =
    token === undefined
      ? undefined
      : token.startsWith("file:")
        ? { type: "Bearer", credentialsFile: path.resolve(token.slice("file:".length)) }
        : { type: "Bearer", credentials: new Secret(token) };
  return {
    ...(authorization === undefined ? {} : { authorization }),
    tls: {
      insecureSkipVerify: false,
      ...(caFile === undefined ? {} : { caFile: path.resolve(caFile) }),
      ...(certFile === undefined ? {} : { certFile: path.resolve(certFile) }),
      ...(keyFile === undefined ? {} : { keyFile: path.resolve(keyFile) }),
    },
    followRedirects: false,
    headers: [],
  };
}
