/** The targets of one scrape configuration, synchronised with discovery and configuration reloads. */
import { HttpClient } from "../../net/http/client.ts";
import type { LabelSet } from "../../model/labels.ts";
import { configKey, seriesKey } from "./config-key.ts";
import type { ScrapeConfig } from "./config/types.ts";
import type { DiscoveredGroup } from "./discovery/group.ts";
import { type LoopSettings, type ScrapeContext, ScrapeLoop } from "./loop/loop.ts";
import { populateTarget } from "./targets/populate.ts";
import { Target } from "./targets/target.ts";

interface GroupTargets {
  readonly active: readonly Target[];
  readonly dropped: readonly LabelSet[];
}

/** One address may serve a thousand targets, such as a blackbox exporter; a slow probe must not delay the others. */
const maxSockets = 4_096;

export class ScrapePool {
  readonly #around: ScrapeContext;
  /** Called for every loop whose target was removed, after its last scrape. */
  readonly #ended: (loop: ScrapeLoop) => void;
  #config: ScrapeConfig;
  #client: HttpClient;
  readonly #oldClients: HttpClient[] = [];
  #loops = new Map<string, ScrapeLoop>();
  /** Loops whose last scrape is still running. */
  readonly #stopping = new Set<ScrapeLoop>();
  #groups: readonly DiscoveredGroup[] = [];
  /** A group is immutable, so its computed targets stay valid until the configuration changes. */
  #made = new WeakMap<DiscoveredGroup, GroupTargets>();
  #dropped: readonly LabelSet[] = [];
  #droppedCount = 0;
  #refused: string | undefined;

  constructor(config: ScrapeConfig, around: ScrapeContext, ended: (loop: ScrapeLoop) => void) {
    this.#config = config;
    this.#client = new HttpClient(config.http, maxSockets);
    this.#around = around;
    this.#ended = ended;
  }

  get config(): ScrapeConfig {
    return this.#config;
  }

  get loops(): Iterable<ScrapeLoop> {
    return this.#loops.values();
  }

  /** The retained label sets of dropped targets, and the number of all dropped targets. */
  get dropped(): { readonly labels: readonly LabelSet[]; readonly count: number } {
    return { labels: this.#dropped, count: this.#droppedCount };
  }

  sync(groups: readonly DiscoveredGroup[]): void {
    this.#groups = groups;
    const made = groups.map((group) => this.#targetsOf(group));
    const wanted = new Map<string, Target>();
    for (const { active } of made)
      for (const target of active)
        if (!wanted.has(target.identity)) wanted.set(target.identity, target);
    const dropped = made.flatMap((group) => group.dropped);
    const keep = this.#config.limits.keepDroppedTargets;
    this.#dropped = keep > 0 ? dropped.slice(0, keep) : dropped;
    this.#droppedCount = dropped.length;
    for (const [identity, loop] of this.#loops) {
      const target = wanted.get(identity);
      if (target === undefined) this.#end(identity, loop);
      else loop.target.discovered = target.discovered;
    }
    const limit = this.#config.limits.targets;
    this.#refused =
      limit > 0 && wanted.size > limit
        ? `target_limit exceeded (number of targets: ${wanted.size}, limit: ${limit})`
        : undefined;
    for (const [identity, target] of wanted)
      if (!this.#loops.has(identity)) this.#begin(identity, target);
  }

  /** Unchanged targets continue; their labels are recomputed only if the change affects them. */
  reload(config: ScrapeConfig): void {
    const before = this.#config;
    if (configKey(before) === configKey(config)) return;
    this.#config = config;
    if (configKey(before.http) !== configKey(config.http)) {
      // Running scrapes still use the old client.
      this.#oldClients.push(this.#client);
      this.#client = new HttpClient(config.http, maxSockets);
    }
    this.#made = new WeakMap();
    if (seriesKey(before) !== seriesKey(config)) this.#beginAnew();
    this.sync(this.#groups);
  }

  /** Stops every loop as if its target had been removed. */
  end(): void {
    for (const [identity, loop] of this.#loops) this.#end(identity, loop);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#loops.values(), ...this.#stopping].map((loop) => loop.abort()));
    for (const client of [this.#client, ...this.#oldClients]) client.close();
  }

  #beginAnew(): void {
    const running = [...this.#loops];
    for (const [identity, loop] of running) {
      this.#end(identity, loop);
      this.#begin(identity, loop.target);
    }
  }

  #begin(identity: string, target: Target): void {
    const settings = (): LoopSettings => ({
      config: this.#config,
      client: this.#client,
      refused: this.#refused,
    });
    const loop = new ScrapeLoop(target, settings, this.#around);
    this.#loops.set(identity, loop);
    loop.start();
  }

  #end(identity: string, loop: ScrapeLoop): void {
    this.#loops.delete(identity);
    this.#stopping.add(loop);
    void this.#seeOff(loop);
  }

  async #seeOff(loop: ScrapeLoop): Promise<void> {
    await loop.stop();
    this.#stopping.delete(loop);
    this.#ended(loop);
  }

  #targetsOf(group: DiscoveredGroup): GroupTargets {
    const known = this.#made.get(group);
    if (known !== undefined) return known;
    const active: Target[] = [];
    const dropped: LabelSet[] = [];
    group.targets.forEach((labels, index) => {
      const made = populateTarget(labels, group.labels, this.#config);
      if (made.is === "dropped") dropped.push(made.discovered);
      else if (made.is === "active")
        active.push(new Target({ ...made, params: this.#config.params }));
      else
        this.#around.log.warn("target cannot be scraped", {
          job: this.#config.jobName,
          group: group.source,
          index,
          error: made.why,
        });
    });
    const targets = { active, dropped };
    this.#made.set(group, targets);
    return targets;
  }
}
