/**
 * One simulated host of a load run: real layouts of the simulator under its own name, pushed by the agent's own code, including
 * spool, connection and token. Only the values are cheaper than the simulator's, so that senders leave processor time to the hub.
 */
import { silentLog } from "../src/base/log.ts";
import type { Device } from "../src/model/device.ts";
import type { Frame } from "../src/model/frame.ts";
import { labelSet } from "../src/model/labels.ts";
import { LayoutBuilder } from "../src/model/layout.ts";
import { presence } from "../src/model/presence.ts";
import { systemClock } from "../src/base/clock.ts";
import { openHubSink } from "../src/sinks/hub/open.ts";
import type { HubSink } from "../src/sinks/hub/sink.ts";
import { openSources } from "../src/sources/open.ts";

export const gpusPerHost = 8;
type Tier = "fast" | "slow" | "static";

export interface Template {
  readonly devices: readonly Device[];
  readonly frames: Readonly<Record<Tier, Frame>>;
}

/** The simulator's layouts for a host of eight H200. */
export async function readTemplate(): Promise<Template> {
  const context = { host: "template", log: silentLog, nowMs: Date.now };
  const [opened] = await openSources([`sim:${gpusPerHost}?model=H200`], {
    ...context,
    sysfs: "/sys",
    procfs: "/proc",
  });
  const source = opened?.source;
  if (source?.shape !== "polled") throw new Error("BUG: the simulator is not polled");
  const read = (tier: Tier): Frame | Promise<Frame> =>
    source.read(tier, Date.now(), new AbortController().signal);
  const frames = {
    fast: await read("fast"),
    slow: await read("slow"),
    static: await read("static"),
  };
  const devices = source.devices();
  await source.close();
  return { devices, frames };
}

export interface HostOptions {
  readonly name: string;
  readonly hubUrl: string;
  readonly token: string | undefined;
  readonly spoolDir: string;
  readonly intervalMs: number;
  /** A number from 0 up to 1. */
  readonly random: () => number;
}

/** The agent's default. */
const spoolMaxBytes = 512 * 2 ** 20;
const spoolAgeMs = 7 * 86_400_000;

export class SimulatedHost {
  readonly samplesPerTick: number;
  written = 0;
  ticks = 0;
  readonly #sink: HubSink;
  readonly #frames: Readonly<Record<Tier, Frame>>;
  readonly #devices: readonly Device[];
  readonly #random: () => number;
  #lastMs = 0;

  constructor(template: Template, options: HostOptions) {
    const { name, hubUrl, token, spoolDir, intervalMs, random } = options;
    this.#random = random;
    this.#devices = template.devices.map((device) => ({
      ...device,
      uuid: `${name}-${device.uuid}`,
    }));
    const rename = ({ layout, values, presence: states }: Frame): Frame => {
      const builder = new LayoutBuilder();
      for (const { metric, labels, suffix } of layout.series) {
        const own = Object.fromEntries(labels);
        if (own["uuid"] !== undefined) own["uuid"] = `${name}-${own["uuid"]}`;
        builder.add(metric, labelSet({ ...own, host: name }), suffix);
      }
      return { timeMs: 0, layout: builder.build(), values, presence: states };
    };
    const { fast, slow, static: still } = template.frames;
    this.#frames = { fast: rename(fast), slow: rename(slow), static: rename(still) };
    this.samplesPerTick = countPresent(fast);
    this.#sink = openHubSink(
      {
        url: hubUrl,
        ...(token === undefined ? {} : { token }),
        intervalMs,
        spoolMaxBytes,
        spoolAgeMs,
      },
      {
        log: silentLog,
        clock: systemClock,
        random,
        hostName: name,
        spoolDir,
        version: "1.0.0",
        identity: { job: "gpulse", instance: `${name}:9400` },
      },
    );
  }

  /** Sends the slow tiers once, and the fast readings at every tick. */
  async tick(nowMs: number): Promise<void> {
    const timeMs = Math.max(this.#lastMs + 1, nowMs);
    this.#lastMs = timeMs;
    if (this.ticks++ === 0)
      for (const tier of ["static", "slow"] as const) await this.#write(tier, timeMs);
    await this.#write("fast", timeMs);
  }

  get shipping(): ReturnType<HubSink["shipping"]> {
    return this.#sink.shipping();
  }

  close(): Promise<void> {
    return this.#sink.close();
  }

  async #write(tier: Tier, timeMs: number): Promise<void> {
    const { layout, values, presence: states } = this.#frames[tier];
    const frame: Frame = {
      timeMs,
      layout,
      presence: states,
      values: tier === "fast" ? values.map((value) => this.#vary(value)) : values,
    };
    this.written += countPresent(frame);
    await this.#sink.write({
      frame,
      source: "sim",
      tier,
      freshForMs: 60_000,
      devices: this.#devices,
    });
  }

  /**
   * Changes some readings by some hundredths and leaves most, like real cards. 1 stays 1, since it may be a flag: a GPU that is
   * 0.98 up would count as lost, and return with the next frame.
   */
  #vary(value: number): number {
    const chance = this.#random();
    return chance > 0.3 || value === 1
      ? value
      : Math.round(value * (0.95 + chance / 3) * 1_000) / 1_000;
  }
}

const countPresent = ({ presence: states }: Pick<Frame, "presence">): number =>
  states.reduce((sum, state) => sum + (state === presence.present ? 1 : 0), 0);
