/** All scraping: one pool per job, fed by discoveries that jobs may share. A new configuration affects only the jobs it changes. */
import { limitDebug } from "../../base/log.ts";
import { configKey } from "./config-key.ts";
import type { ScrapeConfig } from "./config/types.ts";
import { type DiscoveryContext, planDiscoveries } from "./discovery/discovery.ts";
import type { DiscoveredGroup, Discovery } from "./discovery/group.ts";
import { StaleSeriesQueue } from "./loop/stale-series-queue.ts";
import type { ScrapeLoop, ScrapeContext } from "./loop/loop.ts";
import { ScrapePool } from "./pool.ts";

interface Provider {
  readonly discovery: Discovery;
  /** Undefined until the first discovery attempt has finished. */
  groups: readonly DiscoveredGroup[] | undefined;
}

interface Job {
  readonly pool: ScrapePool;
  providers: readonly Provider[];
  /** Set while the job waits for discovery, or a change is delayed. */
  timer: NodeJS.Timeout | undefined;
  syncedMs: number;
}

/** Discovery updates are batched for this long. */
const betweenSyncsMs = 1_000;
/** Maximum wait for a discovery; then the job's other targets are scraped without it. */
const patienceMs = 5_000;

export class Scraper {
  readonly #around: ScrapeContext & DiscoveryContext;
  readonly #providers = new Map<string, Provider>();
  readonly #jobs = new Map<string, Job>();
  readonly #endings: StaleSeriesQueue;
  readonly #leaving = new Set<ScrapePool>();

  constructor(around: ScrapeContext & DiscoveryContext) {
    // One limit for the debug lines of all targets: a thousand targets write a thousand lines per interval.
    this.#around = { ...around, log: limitDebug(around.log, () => performance.now()) };
    this.#endings = new StaleSeriesQueue(this.#around, () => this.#running());
  }

  /** Sorted by job name. */
  get pools(): readonly ScrapePool[] {
    return [...this.#jobs.keys()].sort().flatMap((name) => this.#jobs.get(name)?.pool ?? []);
  }

  apply(configs: readonly ScrapeConfig[]): void {
    const kept = new Set<string>();
    const begun: Provider[] = [];
    const names = new Set(configs.map(({ jobName }) => jobName));
    for (const [name, job] of this.#jobs) if (!names.has(name)) this.#end(name, job);
    for (const config of configs) {
      const plans =
        config.inactive === undefined ? planDiscoveries(config.discovery, this.#around) : [];
      const providers = plans.map(({ part, make }) => {
        const key = configKey(part);
        kept.add(key);
        const known = this.#providers.get(key);
        if (known !== undefined) return known;
        const made: Provider = { discovery: make(), groups: undefined };
        this.#providers.set(key, made);
        begun.push(made);
        return made;
      });
      this.#put(config, providers);
    }
    for (const [key, provider] of this.#providers)
      if (!kept.has(key)) {
        provider.discovery.close();
        this.#providers.delete(key);
      }
    for (const provider of begun)
      provider.discovery.start((groups) => {
        provider.groups = groups;
        this.#found(provider);
      });
    // Configuration changes are applied without delay.
    for (const job of this.#jobs.values()) this.#syncSoon(job, 0);
  }

  async close(): Promise<void> {
    this.#endings.close();
    for (const { discovery } of this.#providers.values()) discovery.close();
    for (const job of this.#jobs.values()) clearTimeout(job.timer);
    const pools = [...this.pools, ...this.#leaving];
    await Promise.all(pools.map((pool) => pool.close()));
  }

  #put(config: ScrapeConfig, providers: readonly Provider[]): void {
    const known = this.#jobs.get(config.jobName);
    if (known !== undefined) {
      known.providers = providers;
      known.pool.reload(config);
      return;
    }
    const pool = new ScrapePool(config, this.#around, (loop) => this.#endings.add(loop));
    this.#jobs.set(config.jobName, { pool, providers, timer: undefined, syncedMs: -Infinity });
  }

  #end(name: string, job: Job): void {
    clearTimeout(job.timer);
    this.#jobs.delete(name);
    job.pool.end();
    // Its connections are closed in `close`, since the last scrapes may still use them.
    this.#leaving.add(job.pool);
  }

  #found(provider: Provider): void {
    for (const job of this.#jobs.values())
      if (job.providers.includes(provider)) this.#syncSoon(job);
  }

  #syncSoon(job: Job, betweenMs = betweenSyncsMs): void {
    const isWhole = job.providers.every(({ groups }) => groups !== undefined);
    const sinceMs = performance.now() - job.syncedMs;
    if (isWhole && sinceMs >= betweenMs) this.#sync(job);
    else if (isWhole) {
      clearTimeout(job.timer);
      job.timer = setTimeout(() => this.#sync(job), betweenMs - sinceMs);
    } else job.timer ??= setTimeout(() => this.#sync(job), patienceMs);
  }

  #sync(job: Job): void {
    clearTimeout(job.timer);
    job.timer = undefined;
    job.syncedMs = performance.now();
    job.pool.sync(job.providers.flatMap(({ groups }) => groups ?? []));
  }

  *#running(): Generator<ScrapeLoop> {
    for (const { pool } of this.#jobs.values()) yield* pool.loops;
  }
}
