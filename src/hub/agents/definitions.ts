/**
 * Caches the definitions that agents send once and frames refer to by hash: layouts, devices, metrics. Bounded; the least
 * recently used is evicted and requested again.
 */
import type { LayoutDefinition } from "../../formats/frames/layout.ts";
import type { MissingDefinitions } from "../../formats/frames/push-response.ts";
import type { FrameHead } from "../../formats/frames/frame.ts";
import type { DefinitionStore } from "../../formats/frames/request.ts";
import { findMetric, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { labelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";

export interface AgentIdentity {
  readonly id: string;
  readonly job: string;
  readonly instance: string;
}

interface CachedDefinition {
  /** Number of series or devices, which the bound counts. */
  readonly weight: number;
  /** True if used since the bound was last reached. */
  isUsed: boolean;
  readonly layout?: KnownLayout;
  readonly devices?: readonly Device[];
}

export interface KnownLayout {
  readonly resolutions: Float64Array;
  /** The layout with the agent's `job` and `instance` on every series that has none. */
  readonly layout: Layout;
}

const maxWeight = 4_000_000;
const maxMetrics = 20_000;

export class Definitions {
  /** Oldest first. A used entry moves to the end when the bound is reached, not at every use. */
  readonly #cached = new Map<string, CachedDefinition>();
  readonly #metrics = new Map<string, MetricEntry>();
  readonly #maxWeight: number;
  #weight = 0;

  constructor(bound = maxWeight) {
    this.#maxWeight = bound;
  }

  of(identity: AgentIdentity): AgentDefinitions {
    return new AgentDefinitions(this, identity);
  }

  /** Prefers the catalogue's own entry: a metric has one meaning per hub. */
  metric(name: string): MetricEntry | undefined {
    return findMetric(name) ?? this.#metrics.get(name);
  }

  learnMetric(metric: MetricEntry): void {
    if (this.metric(metric.name) === undefined && this.#metrics.size < maxMetrics)
      this.#metrics.set(metric.name, metric);
  }

  get(key: string): CachedDefinition | undefined {
    const cached = this.#cached.get(key);
    if (cached !== undefined) cached.isUsed = true;
    return cached;
  }

  set(key: string, cached: CachedDefinition): void {
    this.#remove(key);
    this.#cached.set(key, cached);
    this.#weight += cached.weight;
    for (const [oldest, definition] of this.#cached) {
      if (this.#weight <= this.#maxWeight) return;
      if (oldest === key) {
        // The newest entry stays; entries after it were used and moved there by this loop.
        if (this.#cached.size === 1) return;
        definition.isUsed = true;
      }
      if (definition.isUsed) {
        definition.isUsed = false;
        this.#cached.delete(oldest);
        this.#cached.set(oldest, definition);
      } else this.#remove(oldest);
    }
  }

  forget(id: string): void {
    for (const key of this.#cached.keys()) if (key.startsWith(`${id}\u0000`)) this.#remove(key);
  }

  #remove(key: string): void {
    this.#weight -= this.#cached.get(key)?.weight ?? 0;
    this.#cached.delete(key);
  }
}

/** Definitions of one agent: no agent can change the meaning of another's hashes. */
export class AgentDefinitions implements DefinitionStore {
  readonly #all: Definitions;
  readonly #identity: AgentIdentity;
  readonly #keyPrefix: string;
  /** The last definitions looked up: every frame of a source refers to the same ones. */
  #lastLayout: { readonly hash: string; readonly layout: KnownLayout } | undefined;
  #lastDevices: { readonly hash: string; readonly devices: readonly Device[] } | undefined;
  /** Metrics without a definition, from layouts sent in this request. */
  readonly #undescribed = new Set<string>();
  /** Layouts that wait for the definitions of their metrics. */
  readonly #waiting: LayoutDefinition[] = [];

  constructor(all: Definitions, identity: AgentIdentity) {
    this.#all = all;
    this.#identity = identity;
    const { id, job, instance } = identity;
    this.#keyPrefix = `${id}\u0000${job}\u0000${instance}\u0000`;
  }

  /** True if it can serve another request under the same identity, with no definition missing. */
  isOf({ job, instance }: Pick<AgentIdentity, "job" | "instance">): boolean {
    return (
      this.#identity.job === job &&
      this.#identity.instance === instance &&
      this.#waiting.length + this.#undescribed.size === 0
    );
  }

  /** Drops the references to the last definitions after a request, so that evicted ones can be freed. */
  releaseLast(): void {
    this.#lastLayout = undefined;
    this.#lastDevices = undefined;
  }

  layout(hash: string): KnownLayout | undefined {
    if (this.#lastLayout?.hash === hash) return this.#lastLayout.layout;
    const layout = this.#all.get(this.#key("layout", hash))?.layout;
    if (layout !== undefined) this.#lastLayout = { hash, layout };
    return layout;
  }

  devices(hash: string): readonly Device[] | undefined {
    if (this.#lastDevices?.hash === hash) return this.#lastDevices.devices;
    const devices = this.#all.get(this.#key("devices", hash))?.devices;
    if (devices !== undefined) this.#lastDevices = { hash, devices };
    return devices;
  }

  learnLayout(definition: LayoutDefinition): void {
    this.#lastLayout = undefined;
    const layout = this.#bind(definition);
    if (layout === undefined) this.#waiting.push(definition);
    else {
      const { resolutions } = definition;
      const weight = resolutions.length + 1;
      this.#all.set(this.#key("layout", definition.hash), {
        weight,
        isUsed: false,
        layout: { resolutions, layout },
      });
    }
  }

  learnDevices(hash: string, devices: readonly Device[]): void {
    this.#lastDevices = undefined;
    const weight = devices.length + 1;
    this.#all.set(this.#key("devices", hash), { weight, isUsed: false, devices });
  }

  learnMetric(metric: MetricEntry): void {
    this.#all.learnMetric(metric);
    this.#undescribed.delete(metric.name);
    for (const definition of this.#waiting.splice(0)) this.learnLayout(definition);
  }

  /** Definitions that these frames refer to and no agent has sent; undefined if none is missing. */
  needs(heads: readonly FrameHead[]): MissingDefinitions | undefined {
    if (this.#waiting.length + this.#undescribed.size === 0 && this.#hasAll(heads))
      return undefined;
    const waiting = new Set(this.#waiting.map(({ hash }) => hash));
    const layouts = new Set<string>();
    const devices = new Set<string>();
    for (const head of heads) {
      if (this.layout(head.layout) === undefined && !waiting.has(head.layout))
        layouts.add(head.layout);
      if (this.devices(head.devices) === undefined) devices.add(head.devices);
    }
    const metrics = this.#undescribed;
    if (layouts.size + devices.size + metrics.size === 0) return undefined;
    // A layout that waits for its metrics is not cached: the agent sends it again together with them.
    return {
      layouts: [...layouts, ...waiting],
      devices: [...devices],
      metrics: [...metrics],
    };
  }

  #hasAll(heads: readonly FrameHead[]): boolean {
    for (const { layout, devices } of heads)
      if (this.layout(layout) === undefined || this.devices(devices) === undefined) return false;
    return true;
  }

  #bind({ series }: LayoutDefinition): Layout | undefined {
    const { job, instance } = this.#identity;
    let complete = true;
    const bound = series.map(({ metric, suffix, labels }) => {
      const entry = this.#all.metric(metric.name);
      if (entry === undefined) {
        complete = false;
        this.#undescribed.add(metric.name);
      }
      // Series forwarded by another hub already have a job and an instance.
      const all = labelSet({ job, instance, ...Object.fromEntries(labels) });
      return { metric: entry, suffix, labels: all };
    });
    return complete ? ({ series: bound } as Layout) : undefined;
  }

  #key(kind: string, hash: string): string {
    return `${this.#keyPrefix}${kind}\u0000${hash}`;
  }
}
