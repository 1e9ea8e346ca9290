/** One scrape target: its labels, its address, and the result of its last scrape. */
import { createHash } from "node:crypto";
import { labelKey, type LabelSet, labelValue } from "../../../model/labels.ts";
import type { ScrapeConfig } from "../config/types.ts";

type Health = "unknown" | "up" | "down";

interface LastScrape {
  readonly health: Health;
  /** Empty if the scrape succeeded. */
  readonly error: string;
  readonly timeMs: number | undefined;
  readonly durationSeconds: number;
}

export class Target {
  /** Including those that begin with `__`. */
  readonly labels: LabelSet;
  /** The target labels added to its series. */
  readonly publicLabels: LabelSet;
  readonly url: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Equal for equal labels and address; such targets are duplicates. */
  readonly identity: string;
  /** The discovered labels; updated on every discovery, even if the target itself stays the same. */
  discovered: LabelSet;
  last: LastScrape = { health: "unknown", error: "", timeMs: undefined, durationSeconds: 0 };

  constructor(options: {
    readonly labels: LabelSet;
    readonly discovered: LabelSet;
    readonly intervalMs: number;
    readonly timeoutMs: number;
    readonly params: ScrapeConfig["params"];
  }) {
    const { labels } = options;
    this.labels = labels;
    this.publicLabels = labels.filter(([name]) => !name.startsWith("__"));
    this.discovered = options.discovered;
    this.intervalMs = options.intervalMs;
    this.timeoutMs = options.timeoutMs;
    this.url = urlOf(labels, options.params);
    this.identity = createHash("sha256")
      .update(`${labelKey(labels)}\0${this.url}`)
      .digest("hex")
      .slice(0, 32);
  }

  /** The target's offset within the interval: the same after every restart, different with another seed. */
  offsetMs(seed: string): number {
    const digest = createHash("sha256").update(`${seed}\0${this.identity}`).digest();
    return Math.floor((digest.readUIntBE(0, 6) / 2 ** 48) * this.intervalMs);
  }
}

function urlOf(labels: LabelSet, params: ScrapeConfig["params"]): string {
  const query = new Map(Object.entries(params).map(([name, values]) => [name, [...values]]));
  for (const [name, value] of labels) {
    if (!name.startsWith("__param_")) continue;
    const values = query.get(name.slice("__param_".length)) ?? [];
    values[0] = value;
    query.set(name.slice("__param_".length), values);
  }
  const search = [...query.keys()]
    .sort()
    .flatMap((name) => (query.get(name) ?? []).map((value) => `${escape(name)}=${escape(value)}`))
    .join("&");
  const path = escapePath(labelValue(labels, "__metrics_path__") ?? "");
  const slash = path === "" || path.startsWith("/") ? "" : "/";
  const scheme = labelValue(labels, "__scheme__") ?? "http";
  const address = labelValue(labels, "__address__") ?? "";
  return `${scheme}://${address}${slash}${path}${search === "" ? "" : `?${search}`}`;
}

const escapeMore = (text: string): string =>
  text.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
const escape = (text: string): string =>
  escapeMore(encodeURIComponent(text)).replaceAll("%20", "+");
const escapePath = (path: string): string =>
  escapeMore(encodeURI(path)).replace(/[?#]/g, encodeURIComponent);

export const joinHostPort = (host: string, port: number | string): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** Host and port; undefined if the text is not of the form `host:port` or `[host]:port`. */
export function splitHostPort(text: string): readonly [host: string, port: string] | undefined {
  const match = /^(?:\[([^\][]*)\]|([^:\][]*)):([^:\][]*)$/.exec(text);
  return match === null ? undefined : [match[1] ?? match[2] ?? "", match[3] ?? ""];
}

/** True if the text is a valid address apart from a missing port. */
export const lacksPort = (text: string): boolean =>
  splitHostPort(text) === undefined && splitHostPort(`${text}:1234`) !== undefined;
