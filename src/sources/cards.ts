/**
 * A polled source over cards that are read from files, channel by channel; shared by AMD and Intel. It guarantees for both that a
 * sleeping card is not woken, a lost card is still reported (as down), a hung card does not delay the others, and every failed
 * reading is retried.
 */
import { gpu, type MetricEntry, type Tier } from "../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../model/device.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { type Layout, LayoutBuilder, seriesKey } from "../model/layout.ts";
import type { SleepState } from "../machine/sysfs/pci.ts";
import { asleep, failed, type ReadResult, unsupported } from "../machine/sysfs/read-result.ts";
import type { PolledSource } from "./source.ts";

export interface CardSeries {
  readonly metric: MetricEntry;
  readonly labels?: Readonly<Record<string, string | undefined>> | undefined;
}

/** One reading of a card; the metric's tier determines when it is read. */
export interface CardChannel extends CardSeries {
  readonly read: (timeMs: number) => ReadResult<number> | Promise<ReadResult<number>>;
}

export interface Card {
  readonly device: Device;
  /** Changes if the card comes back under another number; its channels are then discovered again. */
  readonly key: string;
  /** Must not wake the card. */
  readonly sleepState: () => Promise<SleepState>;
  /** Discovers the readable channels. Called only while the card is awake. */
  readonly findChannels: (timeMs: number) => Promise<readonly CardChannel[]>;
  /** Discovers the card's processes, as slow readings whose series come and go. Called only while the card is awake. */
  readonly findUsers?: (timeMs: number) => Promise<readonly CardChannel[]>;
  /** Returns channels for the pods that hold the card, from the kubelet's list, while it sleeps. Reads nothing of the card. */
  readonly findHolders?: () => Promise<readonly CardChannel[]>;
  /** Series reported as absent while the card has slept since startup, so that its channels are unknown. */
  readonly expected: readonly CardSeries[];
}

export interface CardSourceOptions {
  readonly host: string;
  /** Returns all cards that are present, including those discovered before. Must not wake any. */
  readonly discover: () => Promise<readonly Card[]>;
  readonly nowMs: () => number;
  /** Calls the listener when the owner of a card has changed. */
  readonly onOwnerChange?: (listener: () => void) => void;
  /** Deadline for one card's read. */
  readonly cardDeadlineMs?: number;
}

/** Intervals of discovering new cards and changed channels, and of retrying unsupported channels. */
const discoverEveryMs = 10_000;
const lookAgainMs = 60_000;
/** Shorter than the pipeline's shortest deadline, so that one hung card does not fail the whole source. */
const usualCardDeadlineMs = 800;

interface Entry {
  card: Card;
  channels: readonly CardChannel[];
  users: readonly CardChannel[];
  /** Undefined until the channels have been discovered. */
  foundAtMs: number | undefined;
  /** Not read until the channels are discovered again. */
  readonly unsupported: Set<CardChannel>;
  /** True while a read that has passed its deadline is still running; no second one is started. */
  hung: boolean;
  /** Why the card is down, as of the last read of the fast tier. */
  loss?: string | undefined;
}

/** Undefined if the card did not respond in time. */
type Outcome =
  | undefined
  | { readonly state: "gone" }
  | { readonly state: "asleep" | "awake"; readonly readings: readonly ReadResult<number>[] };

interface CardSourcePlan {
  readonly layout: Layout;
  readonly cards: readonly CardPlan[];
}

interface CardPlan {
  readonly entry: Entry;
  readonly slots: readonly number[];
  readonly upSlot: number;
  readonly asleepSlot: number;
  readonly infoSlot: number;
}

export class CardSource implements PolledSource {
  readonly shape = "polled";
  readonly tiers: readonly Tier[] = ["fast", "slow", "static"];
  readonly #options: CardSourceOptions;
  readonly #cardDeadlineMs: number;
  readonly #entries: Entry[] = [];
  readonly #plans = new Map<Tier, CardSourcePlan>();
  #discoveredAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: CardSourceOptions) {
    this.#options = options;
    this.#cardDeadlineMs = options.cardDeadlineMs ?? usualCardDeadlineMs;
  }

  /** Discovers the cards before the first read, so that `devices` lists them. */
  static async open(options: CardSourceOptions): Promise<CardSource> {
    const source = new CardSource(options);
    await source.#discover(options.nowMs());
    return source;
  }

  devices(): readonly Device[] {
    return this.#entries.map(({ card }) => card.device);
  }

  lossOf(uuid: string): string | undefined {
    return this.#entries.find(({ card }) => card.device.uuid === uuid)?.loss;
  }

  onChange(listener: (tier: Tier) => void): void {
    this.#options.onOwnerChange?.(() => listener("slow"));
  }

  async read(tier: Tier, timeMs: number): Promise<Frame> {
    if (timeMs - this.#discoveredAtMs >= discoverEveryMs) await this.#discover(timeMs);
    await Promise.all(this.#entries.map((entry) => this.#prepare(entry, tier, timeMs)));
    const plan = this.#planFor(tier);
    const writer = new FrameWriter(plan.layout, timeMs);
    const outcomes = await Promise.all(
      plan.cards.map(({ entry }) =>
        guarded(entry, this.#cardDeadlineMs, () => readCard(entry, tier, timeMs)),
      ),
    );
    plan.cards.forEach((card, place) => write(writer, card, outcomes[place]));
    return writer.finish();
  }

  close(): void {}

  async #discover(timeMs: number): Promise<void> {
    this.#discoveredAtMs = timeMs;
    for (const card of await this.#options.discover()) {
      const known = this.#entries.find((entry) => entry.card.device.uuid === card.device.uuid);
      if (known === undefined) {
        this.#entries.push({
          card: { ...card, device: { ...card.device, index: this.#entries.length } },
          channels: card.expected.map((series) => ({ ...series, read: () => asleep })),
          users: [],
          foundAtMs: undefined,
          unsupported: new Set(),
          hung: false,
        });
        this.#plans.clear();
      } else if (known.card.key !== card.key) {
        known.card = { ...card, device: { ...card.device, index: known.card.device.index } };
        known.foundAtMs = undefined;
        this.#plans.clear();
      }
    }
  }

  /** Discovers the channels of a card that is awake, at first and then every minute, and its processes with every slow read. */
  async #prepare(entry: Entry, tier: Tier, timeMs: number): Promise<void> {
    const isDue = entry.foundAtMs === undefined || timeMs - entry.foundAtMs >= lookAgainMs;
    const findUsers = tier === "slow" ? entry.card.findUsers : undefined;
    if (!isDue && findUsers === undefined) return;
    await guarded(entry, this.#cardDeadlineMs, async () => {
      const state = await entry.card.sleepState();
      if (state === "awake" && findUsers !== undefined) {
        const users = await findUsers(timeMs);
        this.#setUsers(entry, users);
      }
      if (state === "asleep" && tier === "slow" && entry.card.findHolders !== undefined) {
        const others = entry.users.filter(({ metric }) => metric !== gpu.ownerInfo);
        this.#setUsers(entry, [...others, ...(await entry.card.findHolders())]);
      }
      if (state !== "awake" || !isDue) return;
      const channels = await entry.card.findChannels(timeMs);
      if (!isSame(channels, entry.channels)) this.#plans.clear();
      entry.channels = channels;
      entry.foundAtMs = timeMs;
      entry.unsupported.clear();
    });
  }

  #setUsers(entry: Entry, users: readonly CardChannel[]): void {
    if (!isSame(users, entry.users)) this.#plans.delete("slow");
    entry.users = users;
  }

  #planFor(tier: Tier): CardSourcePlan {
    const known = this.#plans.get(tier);
    if (known !== undefined) return known;
    const builder = new LayoutBuilder();
    const cards = this.#entries.map((entry) => planCard(builder, entry, tier, this.#options.host));
    const plan = { layout: builder.build(), cards };
    this.#plans.set(tier, plan);
    return plan;
  }
}

function planCard(builder: LayoutBuilder, entry: Entry, tier: Tier, host: string): CardPlan {
  const { device } = entry.card;
  const isFast = tier === "fast";
  const own = deviceLabels(device, host);
  return {
    entry,
    upSlot: isFast ? builder.add(gpu.up, own) : -1,
    asleepSlot: isFast ? builder.add(gpu.asleep, own) : -1,
    infoSlot: tier === "static" ? builder.add(gpu.info, deviceInfoLabels(device, host)) : -1,
    slots: channelsOf(entry, tier).map(({ metric, labels }) =>
      builder.add(metric, deviceLabels(device, host, labels)),
    ),
  };
}

function channelsOf(entry: Entry, tier: Tier): readonly CardChannel[] {
  const own = entry.channels.filter(({ metric }) => metric.tier === tier);
  return tier === "slow" ? [...own, ...entry.users] : own;
}

function isSame(some: readonly CardSeries[], others: readonly CardSeries[]): boolean {
  return (
    some.length === others.length && some.map(channelKey).join() === others.map(channelKey).join()
  );
}

function channelKey({ metric, labels }: CardSeries): string {
  return seriesKey({
    metric,
    suffix: "",
    labels: Object.entries(labels ?? {}) as [string, string][],
  });
}

/** Runs at most one task on a card at a time. After the deadline it stops waiting; the task itself goes on. */
async function guarded<T>(
  entry: Entry,
  deadlineMs: number,
  task: () => Promise<T>,
): Promise<T | undefined> {
  if (entry.hung) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      entry.hung = true;
      resolve(undefined);
    }, deadlineMs);
  });
  const done = task().finally(() => {
    clearTimeout(timer);
    entry.hung = false;
  });
  // After the deadline nothing awaits the task, so its failure is dropped; the card already counts as hung.
  done.catch(() => {});
  return Promise.race([done, late]);
}

async function readCard(entry: Entry, tier: Tier, timeMs: number): Promise<Outcome> {
  const state = await entry.card.sleepState();
  // The card's files may have other names when it is back, so its channels are discovered again.
  if (state === "gone") entry.foundAtMs = undefined;
  if (state === "gone") return { state };
  const readings = await Promise.all(
    channelsOf(entry, tier).map(async (channel) =>
      // A pod may hold a sleeping card, and reading its owner does not touch the card.
      state === "asleep" && channel.metric !== gpu.ownerInfo
        ? asleep
        : readChannel(entry, channel, timeMs),
    ),
  );
  return { state, readings };
}

async function readChannel(
  entry: Entry,
  channel: CardChannel,
  timeMs: number,
): Promise<ReadResult<number>> {
  if (entry.unsupported.has(channel)) return unsupported;
  const reading = await channel.read(timeMs);
  if (!reading.ok && reading.reason === "unsupported") entry.unsupported.add(channel);
  return reading;
}

function write(writer: FrameWriter, plan: CardPlan, outcome: Outcome): void {
  const { slots, upSlot, asleepSlot, infoSlot } = plan;
  const isUp =
    outcome?.state === "asleep" || (outcome?.state === "awake" && answers(outcome.readings));
  if (upSlot >= 0) {
    writer.set(upSlot, isUp ? 1 : 0);
    plan.entry.loss = isUp ? undefined : lossReason(outcome);
  }
  if (asleepSlot >= 0 && isUp) writer.set(asleepSlot, outcome.state === "asleep" ? 1 : 0);
  if (infoSlot >= 0) writer.set(infoSlot, 1);
  slots.forEach((slot, place) => {
    const reading =
      outcome === undefined || outcome.state === "gone"
        ? failed
        : (outcome.readings[place] ?? failed);
    if (reading.ok) writer.set(slot, reading.value);
    else writer.absent(slot, reading.reason);
  });
}

function lossReason(outcome: Outcome): string {
  if (outcome === undefined) return "its files did not answer in time";
  return outcome.state === "gone" ? "its folder in /sys is gone" : "each of its readings fails";
}

/** Returns false if all of three or more readings failed: the card has fallen off the bus, although its folder still exists. */
function answers(readings: readonly ReadResult<number>[]): boolean {
  return (
    readings.length < 3 || readings.some((reading) => reading.ok || reading.reason !== "failed")
  );
}

/** Shares one read among the channels of a tick, so that a file with several readings is opened once. */
export function oncePerTick<T>(
  read: (timeMs: number) => Promise<T>,
): (timeMs: number) => Promise<T> {
  let last: { readonly timeMs: number; readonly result: Promise<T> } | undefined;
  return (timeMs) => {
    if (last?.timeMs !== timeMs) last = { timeMs, result: read(timeMs) };
    return last.result;
  };
}
