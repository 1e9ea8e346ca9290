// Starts services in the order of their dependencies, checks their health, restarts dead ones, and stops everything in reverse
// order. Must never signal a process that it did not start.

import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { backoffMs, deathsAfter } from "./backoff.ts";
import { type Child, launch } from "./child.ts";
import { whyUnhealthy } from "./health.ts";
import { type LogFile, openLog } from "./log-file.ts";
import { inOrder, withSkips } from "./order.ts";
import {
  type Declared,
  isSkipped,
  type Service,
  type ServiceStatus,
  type State,
} from "./service.ts";

const FIRST_CHECK_MS = 200;
const CHECK_MS = 2_000;

export interface Change {
  readonly name: string;
  readonly state: State;
  readonly says: string;
}

export interface SupervisorOptions {
  readonly services: readonly Declared[];
  readonly logDir: string;
  /** The cgroups that a service's process joins; none if the machine has none. */
  readonly joinsOf?: (service: Service) => readonly string[];
  readonly onChange?: (change: Change) => void;
  readonly nowMs?: () => number;
}

interface Slot {
  readonly service: Service;
  readonly log: LogFile;
  state: State;
  child?: Child;
  restarts: number;
  deaths: number;
  wanted: boolean;
  wasHealthy: boolean;
  says: string;
  nextStartMs: number;
  nextCheckMs: number;
  busy: boolean;
}

export class Supervisor {
  readonly #slots = new Map<string, Slot>();
  readonly #skipped: readonly ServiceStatus[];
  readonly #order: readonly string[];
  readonly #options: SupervisorOptions;
  readonly #nowMs: () => number;
  #closing = false;
  #looping: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    const declared = inOrder(withSkips(options.services));
    this.#order = declared.map(({ name }) => name);
    this.#skipped = declared.filter(isSkipped).map(({ name, skipped }) => ({
      name,
      state: "skipped",
      address: "",
      restarts: 0,
      lastWord: skipped,
    }));
    for (const service of declared) {
      if (isSkipped(service)) continue;
      this.#slots.set(service.name, {
        service,
        log: openLog(path.join(options.logDir, `${service.name}.log`)),
        state: "waiting",
        restarts: 0,
        deaths: 0,
        wanted: true,
        wasHealthy: false,
        says: "",
        nextStartMs: 0,
        nextCheckMs: 0,
        busy: false,
      });
    }
  }

  start(): void {
    for (const { name, lastWord } of this.#skipped)
      this.#options.onChange?.({ name, state: "skipped", says: lastWord });
    this.#looping ??= this.#loop();
  }

  /** In start order. */
  statuses(): readonly ServiceStatus[] {
    return this.#order.flatMap((name) => {
      const slot = this.#slots.get(name);
      if (slot === undefined) return this.#skipped.find((one) => one.name === name) ?? [];
      const { service, child, state, restarts, says } = slot;
      return {
        name,
        state,
        address: service.address,
        restarts,
        lastWord: state === "healthy" ? (child?.lastWord() ?? "") : says,
        ...(child?.ended() === undefined && child !== undefined
          ? { pid: child.pid, startedMs: child.startedMs }
          : {}),
      };
    });
  }

  isHealthy(): boolean {
    return [...this.#slots.values()].every(({ state }) => state === "healthy");
  }

  /** Stops a service and keeps it stopped until `release`. */
  async hold(name: string): Promise<void> {
    const slot = this.#slotOf(name);
    slot.wanted = false;
    await slot.child?.stop();
    this.#change(slot, "held", "stopped on request");
  }

  release(name: string): void {
    const slot = this.#slotOf(name);
    if (slot.wanted) return;
    slot.wanted = true;
    slot.nextStartMs = 0;
    this.#change(slot, "waiting", "");
  }

  signal(name: string, signal: NodeJS.Signals): void {
    this.#slotOf(name).child?.signal(signal);
  }

  /** Stops everything in reverse order; resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#closing = true;
    await this.#looping;
    for (const name of [...this.#order].reverse()) {
      const slot = this.#slots.get(name);
      if (slot === undefined) continue;
      slot.wanted = false;
      if (slot.child !== undefined && slot.child.ended() === undefined) {
        this.#change(slot, "stopping", "");
        await slot.child.stop();
      }
      this.#change(slot, "stopped", "");
      slot.log.close();
    }
  }

  #slotOf(name: string): Slot {
    const slot = this.#slots.get(name);
    if (slot === undefined)
      throw new Error(
        `there is no service ${name}: there are ${[...this.#slots.keys()].join(", ")}`,
      );
    return slot;
  }

  async #loop(): Promise<void> {
    const underWay = new Set<Promise<void>>();
    while (!this.#closing) {
      for (const slot of this.#slots.values()) {
        if (slot.busy) continue;
        slot.busy = true;
        const step = this.#step(slot).finally(() => {
          slot.busy = false;
          underWay.delete(step);
        });
        underWay.add(step);
      }
      await sleep(50);
    }
    await Promise.all(underWay);
  }

  async #step(slot: Slot): Promise<void> {
    const running = slot.child !== undefined && slot.child.ended() === undefined;
    if (!slot.wanted) return;
    if (running) return this.#check(slot);
    if (this.#nowMs() < slot.nextStartMs) return;
    const missing = slot.service.dependsOn.find(
      (name) => this.#slots.get(name)?.wasHealthy !== true,
    );
    if (missing !== undefined) return this.#change(slot, "waiting", `for ${missing}`);
    await this.#start(slot);
  }

  async #start(slot: Slot): Promise<void> {
    this.#change(slot, "starting", "");
    const { service } = slot;
    try {
      await service.prepare?.();
    } catch (error) {
      return this.#died(slot, error instanceof Error ? error.message : String(error), 0);
    }
    if (this.#closing || !slot.wanted) return;
    slot.nextCheckMs = 0;
    slot.child = launch({
      service,
      log: slot.log,
      joins: this.#options.joinsOf?.(service) ?? [],
      nowMs: this.#nowMs,
      onEnd: (why, ranMs) => this.#died(slot, why, ranMs),
    });
  }

  #died(slot: Slot, why: string, ranMs: number): void {
    if (!slot.wanted || this.#closing) return;
    slot.restarts++;
    slot.deaths = deathsAfter(slot.deaths, ranMs);
    const waitMs = backoffMs(slot.deaths);
    slot.nextStartMs = this.#nowMs() + waitMs;
    const words = slot.log.lastLine();
    this.#change(
      slot,
      "restarting",
      `${why}; starts again in ${waitMs / 1000} s${words === "" ? "" : ` (${words})`}`,
    );
  }

  async #check(slot: Slot): Promise<void> {
    if (this.#nowMs() < slot.nextCheckMs) return;
    const { child } = slot;
    const reason = await whyUnhealthy(slot.service.health);
    if (child !== slot.child || child?.ended() !== undefined || !slot.wanted) return;
    slot.nextCheckMs =
      this.#nowMs() +
      (reason !== undefined && slot.state === "starting" ? FIRST_CHECK_MS : CHECK_MS);
    if (reason === undefined) {
      slot.wasHealthy = true;
      this.#change(slot, "healthy", "");
    } else if (slot.state !== "starting") this.#change(slot, "unhealthy", reason);
  }

  #change(slot: Slot, state: State, says: string): void {
    if (slot.state === state && slot.says === says) return;
    const isNews = slot.state !== state;
    slot.state = state;
    slot.says = says;
    if (isNews) this.#options.onChange?.({ name: slot.service.name, state, says });
  }
}
