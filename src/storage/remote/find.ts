/**
 * Detects which engine is at an address and its write URL. The address can override what detection does not find:
 * `?engine=mimir&write=https://…`.
 */
import { GpulseError } from "../../base/error.ts";
import type { HttpResponse } from "../../net/http/request.ts";
import { StoreError } from "../embedded/error.ts";
import type { EngineName, StoreAddress } from "./address.ts";
import { type EngineConnection, wordsOf } from "./connection.ts";

export interface DetectedEngine {
  readonly name: EngineName;
  /** The version that the engine reports, or empty. */
  readonly version: string;
  /** The base URL of `/api/v1/query`. */
  readonly readBase: string;
  readonly writeUrl: string;
}

const timeoutMs = 10_000;
const maxBytes = 1024 * 1024;

/** An empty WriteRequest, snappy-compressed: a length of 0. */
const emptyWrite = Uint8Array.of(0);
export const writeHeaders = {
  "content-encoding": "snappy",
  "content-type": "application/x-protobuf",
  "x-prometheus-remote-write-version": "0.1.0",
};

/** @throws StoreError while the engine is unreachable, GpulseError if it is reachable but unsuitable. */
export async function findEngine(
  connection: EngineConnection,
  address: StoreAddress,
): Promise<DetectedEngine> {
  const found = await findReader(connection, address);
  await checkWritable(connection, found);
  return found;
}

/** Like `findEngine`, for a client that only reads. */
export async function findReader(
  connection: EngineConnection,
  address: StoreAddress,
): Promise<DetectedEngine> {
  const { readBase, answer } = await fetchBuildInfo(connection, address);
  const build = buildOf(answer);
  const version = textIn(build, "version");
  const name = address.engine ?? nameOf(answer, build);
  return {
    name,
    version: version.slice(0, 40),
    readBase,
    writeUrl: address.writeUrl ?? usualWriteUrl(name, readBase),
  };
}

/** Mimir serves Prometheus's API below /prometheus, but users configure its root. */
async function fetchBuildInfo(
  connection: EngineConnection,
  { base }: StoreAddress,
): Promise<{ readBase: string; answer: HttpResponse }> {
  let refused: HttpResponse | undefined;
  for (const readBase of [base, `${base}/prometheus`]) {
    const answer = await connection.get(`${readBase}/api/v1/status/buildinfo`, {
      timeoutMs,
      maxBytes,
    });
    if (answer.status === 200) return { readBase, answer };
    if (answer.status >= 500 || answer.status === 429)
      throw new StoreError("unavailable", `the store at ${base} responded: ${wordsOf(answer)}`);
    if (answer.status === 401 || answer.status === 403)
      throw unusable(
        `${base} refuses these credentials (${wordsOf(answer)}): put user and password into the URL, or set hub.store in gpulse.yaml.`,
      );
    refused ??= answer;
  }
  throw unusable(
    `${base} does not answer as Prometheus, VictoriaMetrics, Mimir or Thanos do (HTTP ${refused?.status ?? 0} to /api/v1/status/buildinfo): check the path.`,
  );
}

function buildOf({ body }: HttpResponse): Record<string, unknown> {
  try {
    const { data } = JSON.parse(body.toString("utf8")) as { data?: unknown };
    return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function textIn(build: Record<string, unknown>, key: string): string {
  const value = build[key];
  return typeof value === "string" ? value : "";
}

/**
 * VictoriaMetrics reports little build information but identifies itself in a response header; Thanos's versions are
 * below 1.
 */
function nameOf({ headers }: HttpResponse, build: Record<string, unknown>): EngineName {
  if ("gpulse" in build) return "gpulse";
  if (/mimir/i.test(textIn(build, "application"))) return "mimir";
  if (headers["x-server-hostname"] !== undefined || Object.keys(build).length === 0)
    return "victoria-metrics";
  return textIn(build, "version").startsWith("0.") ? "thanos" : "prometheus";
}

function usualWriteUrl(name: EngineName, readBase: string): string {
  if (name === "mimir") return `${readBase.replace(/\/prometheus$/, "")}/api/v1/push`;
  if (name === "thanos") return `${readBase}/api/v1/receive`;
  return `${readBase}/api/v1/write`;
}

async function checkWritable(
  connection: EngineConnection,
  { name, writeUrl }: DetectedEngine,
): Promise<void> {
  const answer = await connection.post(writeUrl, {
    body: emptyWrite,
    headers: writeHeaders,
    timeoutMs,
    maxBytes,
  });
  if (answer.status < 300 || answer.status === 400) return;
  if (answer.status >= 500 || answer.status === 429)
    throw new StoreError("unavailable", `${writeUrl} responded: ${wordsOf(answer)}`);
  throw unusable(`${name} takes no samples at ${writeUrl} (${wordsOf(answer)}): ${remedy(name)}`);
}

function remedy(name: EngineName): string {
  if (name === "prometheus")
    return "start it with --web.enable-remote-write-receiver, or name another address with ?write=.";
  if (name === "thanos")
    return "samples go to a Thanos Receive: name it, as in ?write=http://receive:19291/api/v1/receive.";
  return "name the address that takes remote-write with ?write=.";
}

const unusable = (sentence: string): GpulseError => new GpulseError("STORE_ADDRESS", sentence);
