/**
 * Detects GPU uuids that several senders report at the same time: agents of earlier versions, cloned machines, simulated GPUs
 * with one seed. Reports each once; GPUs of different hosts are still shown and counted separately.
 */
import { formatError } from "../../base/error.ts";
import type { EventSink } from "../events/event.ts";
import type { Log } from "../../base/log.ts";
import { self } from "../../model/catalogue/index.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import type { Delivery } from "../../pipeline/sink.ts";

export interface UuidConflictsOptions {
  readonly latest: { at(nowMs: number): readonly Delivery[] };
  /** The host name for frames read on this machine. */
  readonly hostName: string;
  readonly events: EventSink;
  readonly log: Log;
  readonly nowMs: () => number;
  /** No timer: the caller calls `check` (tests). */
  readonly manual?: boolean;
}

export interface UuidConflict {
  readonly uuid: string;
  /** Sorted; one entry if several agents of the same host report the GPU. */
  readonly hosts: readonly string[];
}

const checkEveryMs = 5_000;
/** Limits: a fleet of clones must not flood the log, the timeline and the page. */
const maxReported = 100;
const maxProblems = 5;

export class UuidConflicts {
  readonly #options: UuidConflictsOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #reported = new Set<string>();
  #current: readonly UuidConflict[] = [];

  constructor(options: UuidConflictsOptions) {
    this.#options = options;
    if (options.manual !== true)
      this.#timer = setInterval(() => this.check(), checkEveryMs).unref();
  }

  get current(): readonly UuidConflict[] {
    return this.#current;
  }

  check(): void {
    const { latest, hostName, nowMs } = this.#options;
    this.#current = findConflicts(latest.at(nowMs()), hostName);
    for (const conflict of this.#current) this.#report(conflict);
  }

  /** One sentence each, for `/-/ready` and the page. */
  problems(): readonly string[] {
    const shown = this.#current.slice(0, maxProblems).map(describeConflict);
    const more = this.#current.length - shown.length;
    return more > 0 ? [...shown, `and ${more} more GPU uuids are reported several times`] : shown;
  }

  readonly selfMetrics: CollectMetrics = (put) => put(self.uuidConflicts, this.#current.length);

  close(): void {
    clearInterval(this.#timer);
  }

  /** Reports each combination of uuid and hosts once. */
  #report(conflict: UuidConflict): void {
    const { uuid, hosts } = conflict;
    const key = [uuid, ...hosts].join("\u0000");
    if (this.#reported.has(key) || this.#reported.size >= maxReported) return;
    this.#reported.add(key);
    const { events, log, nowMs } = this.#options;
    const title = describeConflict(conflict);
    log.warn("several agents or exporters report the same GPU uuid", {
      uuid,
      hosts: hosts.join(", "),
    });
    try {
      events.add({
        timeMs: nowMs(),
        kind: "device",
        state: "conflict",
        severity: "warning",
        title,
        labels: { uuid },
        key: `uuid-conflict:${key}`,
      });
    } catch (thrown) {
      log.warn("writing a uuid conflict to the timeline failed", {
        error: formatError(thrown),
      });
    }
  }
}

/** Groups the senders (agent and source) by uuid. Sources of one agent may share a GPU; agents may not. */
export function findConflicts(deliveries: readonly Delivery[], ownHost: string): UuidConflict[] {
  const senders = new Map<string, Set<string>>();
  const hosts = new Map<string, Set<string>>();
  for (const { devices, source, host = ownHost } of deliveries) {
    const sender = senderOf(source);
    for (const { uuid } of devices) {
      addTo(senders, uuid, `${host}\u0000${sender}`);
      addTo(hosts, uuid, host);
    }
  }
  return [...senders].flatMap(([uuid, found]) =>
    found.size > 1 ? [{ uuid, hosts: [...(hosts.get(uuid) ?? [])].toSorted() }] : [],
  );
}

/** All sources of an agent have one sender; each exporter target is its own sender. */
function senderOf(source: string): string {
  if (source.startsWith("agent:")) return source.slice(0, source.lastIndexOf("/"));
  return source.startsWith("exporter:") ? source : "";
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

function describeConflict({ uuid, hosts: [host = "", ...others] }: UuidConflict): string {
  return others.length === 0
    ? `GPU ${uuid}: several agents or exporters on ${host} report this uuid and their readings mix; stop one, or give simulated GPUs another seed`
    : `GPU ${uuid}: the hosts ${[host, ...others].join(", ")} report one uuid; upgrade their agents, or give cloned machines a machine-id of their own`;
}
