/**
 * Follows one kind of object at an API server: lists it, then watches from that version, in a loop. After a broken connection it
 * resumes; if the server no longer has the version (410), it lists again. Until then the last objects are retained.
 */
import { backoffMs, pause } from "../../../../base/retry.ts";
import { formatError } from "../../../../base/error.ts";
import type { HttpClient } from "../../../../net/http/client.ts";
import { request } from "../../../../net/http/request.ts";
import { streamLines } from "../../../../net/http/stream.ts";
import type { Log } from "../../../../base/log.ts";
import type { KubeObject } from "./objects.ts";

export interface FollowOptions {
  /** The URL of the list, with its selectors. */
  readonly url: string;
  readonly client: HttpClient;
  readonly log: Log;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Receives all current objects; any other object has been deleted. */
  readonly listed: (objects: readonly KubeObject[]) => void;
  readonly changed: (object: KubeObject) => void;
  readonly deleted: (object: KubeObject) => void;
  /** Called if the first attempt has failed. */
  readonly failed: () => void;
}

const pageSize = 500;
const listTimeoutMs = 60_000;
const maxListBytes = 256 * 1024 * 1024;
const maxLineBytes = 16 * 1024 * 1024;
const backoff = { firstMs: 500, longestMs: 30_000 };

/** The server no longer has the resource version to resume from. */
class VersionExpiredError extends Error {}

export async function follow(options: FollowOptions): Promise<void> {
  const { signal, log, random } = options;
  let failures = 0;
  let version: string | undefined;
  while (!signal.aborted) {
    try {
      version ??= await list(options);
      failures = 0;
      version = await watch(options, version);
    } catch (thrown) {
      if (signal.aborted) return;
      if (thrown instanceof VersionExpiredError) {
        version = undefined;
        // Back off if the server rejects every watch immediately.
        failures = Math.max(failures, 1);
      } else {
        if (failures === 0) options.failed();
        failures++;
        log.warn("Kubernetes watch failed, keeping the last targets", {
          url: options.url,
          error: formatError(thrown),
        });
      }
      await pause(backoffMs(failures, random, backoff), signal);
    }
  }
}

interface KubeList {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly KubeObject[] | null;
}

async function list({ url, client, signal, listed }: FollowOptions): Promise<string> {
  const objects: KubeObject[] = [];
  let next = "";
  for (;;) {
    const page = new URL(url);
    page.searchParams.set("limit", String(pageSize));
    if (next !== "") page.searchParams.set("continue", next);
    const { headers, agent } = await client.options();
    const answer = await request(page.href, {
      headers: { accept: "application/json", ...headers },
      agent,
      timeoutMs: listTimeoutMs,
      maxBytes: maxListBytes,
      signal,
    });
    if (answer.status === 410) throw new VersionExpiredError();
    if (answer.status !== 200) throw new Error(formatStatus(answer.status, answer.body.toString()));
    const { metadata, items } = JSON.parse(answer.body.toString("utf8")) as KubeList;
    objects.push(...(items ?? []));
    next = metadata?.continue ?? "";
    if (next !== "") continue;
    listed(objects);
    return metadata?.resourceVersion ?? "0";
  }
}

/** Returns without an error when the server closes the watch, which it does every few minutes. */
async function watch(options: FollowOptions, from: string): Promise<string> {
  const { client, signal, random } = options;
  const seconds = Math.round(300 * (1 + random()));
  const url = new URL(options.url);
  url.searchParams.set("watch", "1");
  url.searchParams.set("allowWatchBookmarks", "true");
  url.searchParams.set("resourceVersion", from);
  url.searchParams.set("timeoutSeconds", String(seconds));
  const { headers, agent } = await client.options();
  const { status, lines } = await streamLines(url.href, {
    headers: { accept: "application/json", ...headers },
    agent,
    silenceMs: (seconds + 30) * 1_000,
    maxLineBytes,
    signal,
  });
  let version = from;
  for await (const line of lines) {
    if (status === 410) throw new VersionExpiredError();
    if (status !== 200) throw new Error(formatStatus(status, line));
    if (line.trim() !== "") version = take(line, options) ?? version;
  }
  if (status === 410) throw new VersionExpiredError();
  if (status !== 200) throw new Error(formatStatus(status, ""));
  return version;
}

interface WatchEvent {
  readonly type?: string;
  readonly object?: KubeObject & { readonly code?: number; readonly message?: string };
}

/** Returns the resource version of the event. */
function take(line: string, { changed, deleted }: FollowOptions): string | undefined {
  const { type, object } = JSON.parse(line) as WatchEvent;
  if (object === undefined) return undefined;
  if (type === "ERROR") {
    if (object.code === 410) throw new VersionExpiredError();
    throw new Error(formatStatus(object.code ?? 0, object.message ?? ""));
  }
  if (type === "ADDED" || type === "MODIFIED") changed(object);
  else if (type === "DELETED") deleted(object);
  return object.metadata?.resourceVersion;
}

function formatStatus(status: number, body: string): string {
  const hint = status === 403 ? " (the account needs the verbs list and watch there)" : "";
  return `the API server answered ${status}${hint}: ${body.slice(0, 200)}`;
}
