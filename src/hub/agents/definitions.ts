/** What agents have reported once and frames only name: layouts, devices, metrics. Bounded; the least recently used goes, and is asked for again. */
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
  /** Series or devices: what the bound counts. */
  readonly weight: number;
  readonly layout?: KnownLayout;
  readonly devices?: readonly Device[];
}

export interface KnownLayout {
  readonly resolutions: Float64Array;
  /** With the agent's `job` and `instance` on every series that has none. */
  readonly layout: Layout;
}

const maxWeight = 4_000_000;
const maxMetrics = 20_000;

export class Definitions {
  /** In the order of use, oldest first. */
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

  /** The catalogue's own entry where it has one: a metric means one thing on one hub. */
  metric(name: string): MetricEntry | undefined {
    return findMetric(name) ?? this.#metrics.get(name);
  }

  learnMetric(metric: MetricEntry): void {
    if (this.metric(metric.name) === undefined && this.#metrics.size < maxMetrics)
      this.#metrics.set(metric.name, metric);
  }

  get(key: string): CachedDefinition | undefined {
    const cached = this.#cached.get(key);
    if (cached === undefined) return undefined;
    this.#cached.delete(key);
    this.#cached.set(key, cached);
    return cached;
  }

  set(key: string, cached: CachedDefinition): void {
    this.#remove(key);
    this.#cached.set(key, cached);
    this.#weight += cached.weight;
    for (const oldest of this.#cached.keys()) {
      if (this.#weight <= this.#maxWeight || oldest === key) return;
      this.#remove(oldest);
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

/** The same for one agent: no agent can change what another's hashes mean. */
export class AgentDefinitions implements DefinitionStore {
  readonly #all: Definitions;
  readonly #identity: AgentIdentity;
  /** Metrics of layouts reported in this request that nobody has described. */
  readonly #undescribed = new Set<string>();
  /** Layouts that wait for their metrics. */
  readonly #waiting: LayoutDefinition[] = [];

  constructor(all: Definitions, identity: AgentIdentity) {
    this.#all = all;
    this.#identity = identity;
  }

  layout(hash: string): KnownLayout | undefined {
    return this.#all.get(this.#key("layout", hash))?.layout;
  }

  devices(hash: string): readonly Device[] | undefined {
    return this.#all.get(this.#key("devices", hash))?.devices;
  }

  learnLayout(definition: LayoutDefinition): void {
    const layout = this.#bind(definition);
    if (layout === undefined) this.#waiting.push(definition);
    else {
      const { resolutions } = definition;
      const weight = resolutions.length + 1;
      this.#all.set(this.#key("layout", definition.hash), {
        weight,
        layout: { resolutions, layout },
      });
    }
  }

  learnDevices(hash: string, devices: readonly Device[]): void {
    this.#all.set(this.#key("devices", hash), { weight: devices.length + 1, devices });
  }

  learnMetric(metric: MetricEntry): void {
    this.#all.learnMetric(metric);
    this.#undescribed.delete(metric.name);
    for (const definition of this.#waiting.splice(0)) this.learnLayout(definition);
  }

  /** What these frames name and nobody has reported; undefined where all is known. */
  needs(heads: readonly FrameHead[]): MissingDefinitions | undefined {
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
    // A layout that waits for its metrics is not cached: it returns beside them.
    return {
      layouts: [...layouts, ...waiting],
      devices: [...devices],
      metrics: [...metrics],
    };
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
      // What another hub passes on has a job and an instance already.
      const all = labelSet({ job, instance, ...Object.fromEntries(labels) });
      return { metric: entry, suffix, labels: all };
    });
    return complete ? ({ series: bound } as Layout) : undefined;
  }

  #key(kind: string, hash: string): string {
    const { id, job, instance } = this.#identity;
    return `${id}\u0000${job}\u0000${instance}\u0000${kind}\u0000${hash}`;
  }
}
