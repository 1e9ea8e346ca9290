/**
 * An NVML session: which cards exist, what is read of each and how often, and the handling of lost and returning cards and
 * drivers. Runs in the NVML process: any call here may block forever or crash it.
 */
import type { Tier } from "../../../model/catalogue/index.ts";
import type { Device } from "../../../model/device.ts";
import { code, codeName, isUnsupported, meansDriverGone, meansLost } from "../nvml/codes.ts";
import type { Nvml } from "../nvml/library.ts";
import type { SeriesPlan, WorkerSnapshot, StartSettings } from "../protocol.ts";
import type { TierValues } from "./latest-values.ts";
import { buildCards } from "./build.ts";
import type { NvmlCard } from "./card.ts";
import { demoteCostlyTasks } from "./cost.ts";
import { checkIdentity, type ListedDevice, noHandle, readInventory } from "./inventory.ts";
import { presence } from "../../../model/presence.ts";
import { SleepController, type SleepFiles } from "./sleep.ts";
import type { Task } from "./task.ts";
import { energyTask } from "./slow.ts";
import { XidWatch } from "./xid.ts";

const lookEveryMs = 2_000;
const listEveryMs = 30_000;
/** Interval of listing the GPUs while a card is lost and not listed. */
const listSoonMs = 5_000;
/** Interval of reopening the driver while some cards are lost; `reopenSoonMs` while all are. */
const reopenEveryMs = 60_000;
const reopenSoonMs = 5_000;
/** Cheap calls are made together for up to this long. */
const chunkMs = 4;
/** A call that takes longer than this is made alone. */
const dearMs = 2;
/** Budget for all energy counters of a machine, 4 ms each: well within the gap between two passes at ten a second. */
const countersMs = 36;
/** A call may be made early by this share of its period, together with others, because each wake-up of the thread has a cost. */
const early = 0.1;

export class NvmlSession {
  readonly #nvml: Nvml;
  readonly #settings: StartSettings;
  readonly #random: () => number;
  readonly #xids: XidWatch;
  readonly #sleep: SleepFiles;
  readonly #doze = new SleepController();
  readonly #known = new Map<string, ListedDevice>();
  #cards: readonly NvmlCard[] = [];
  #boards: TierValues | undefined;
  #plan: SeriesPlan = { version: 0, devices: [], series: { fast: [], slow: [], static: [] } };
  #unread: { card: NvmlCard; task: Task }[] = [];
  /** NVML's code while the driver is unavailable. */
  #goneWith: number | undefined;
  #lookAtMs = 0;
  #listAtMs = 0;
  #reopenAtMs = 0;
  #openedAtMs = 0;

  /** `known`: GPUs found by an earlier session; those no longer listed are lost. */
  constructor(
    nvml: Nvml,
    settings: StartSettings,
    random: () => number,
    sleep: SleepFiles,
    known: readonly Device[],
  ) {
    for (const device of known) this.#known.set(device.uuid, { device, handle: noHandle });
    this.#nvml = nvml;
    this.#settings = settings;
    this.#random = random;
    this.#xids = new XidWatch(nvml);
    this.#sleep = sleep;
  }

  get cards(): readonly NvmlCard[] {
    return this.#cards;
  }

  /** The NVML code that makes all readings unavailable; undefined otherwise. */
  get goneWith(): number | undefined {
    return this.#goneWith;
  }

  /** True if every reading has been tried once since the plan was made. */
  get hasReadAll(): boolean {
    return this.#unread.length === 0;
  }

  /** Like `hasReadAll`, and readings that need two samples have both. */
  get hasSettled(): boolean {
    return (
      this.hasReadAll &&
      !this.#cards.some(
        ({ lostSinceMs, scheduler }) =>
          lostSinceMs === undefined && scheduler.some((task) => task.needsAnother?.() === true),
      )
    );
  }

  start(nowMs: number): void {
    const { code: got, found } = readInventory(this.#nvml);
    if (got !== code.success) return this.#loseDriver(got, nowMs);
    this.#arrange(found, nowMs);
  }

  /** Reads every fast value of every card that responds. */
  pass(nowMs: number): void {
    for (const card of this.#cards) {
      if (card.lostSinceMs !== undefined) continue;
      const { dozing } = this.#doze;
      for (const task of dozing ? [] : card.fast) {
        if (!this.#run(card, task, nowMs)) break;
      }
      if (card.lostSinceMs !== undefined || (!dozing && !this.#isStill(card, nowMs))) continue;
      if (!dozing) card.smClock?.note(nowMs);
      this.#boards?.fast.set(card.upSlot, 1, nowMs);
      if (card.asleepSlot !== undefined)
        this.#boards?.fast.set(card.asleepSlot, Number(dozing), nowMs);
    }
  }

  /** True if the clock of a busy GPU should be sampled between passes. */
  get wantsClockSamples(): boolean {
    return !this.#doze.dozing && this.#cards.some(({ smClock }) => smClock?.wantsSamples === true);
  }

  sampleClocks(nowMs: number): void {
    if (this.#doze.dozing) return;
    for (const card of this.#cards) {
      const { smClock } = card;
      if (smClock?.wantsSamples === true) this.#follow(card, smClock.sample(nowMs), nowMs);
    }
  }

  /** Returns when the next task between passes is due, and its cost. */
  next(nowMs: number): { dueMs: number; costMs: number } {
    if (this.#unread.length > 0) return { dueMs: nowMs, costMs: 0 };
    const due = this.#soonest();
    const lookAtMs = this.#goneWith === undefined ? this.#lookAtMs : this.#reopenAtMs;
    if (due === undefined || lookAtMs < due.task.dueMs) return { dueMs: lookAtMs, costMs: 1 };
    return { dueMs: due.task.dueMs, costMs: due.task.costMs };
  }

  /** Makes one costly call or several cheap ones of those that are due. */
  step(nowMs: number, clock: () => number): void {
    const isLookDue = nowMs >= this.#lookAtMs - early * lookEveryMs;
    if (this.#goneWith !== undefined || isLookDue) this.#look(nowMs);
    const startMs = clock();
    for (let made = 0; ; made++) {
      const due = this.#unread[0] ?? this.#soonest();
      const spentMs = clock() - startMs;
      if (due === undefined || spentMs >= chunkMs) return;
      const aheadMs = due.task.needsAnother?.() === true ? 0 : early * due.task.everyMs;
      if (due.task.dueMs > nowMs + aheadMs) return;
      if (made > 0 && due.task.costMs > dearMs) return;
      const { card, task } = due;
      if (due === this.#unread[0]) this.#unread.shift();
      const beforeMs = clock();
      task.dueMs = nowMs + task.everyMs;
      if (card.lostSinceMs === undefined && this.#run(card, task, nowMs))
        this.#isStill(card, nowMs);
      task.costMs = Math.max(clock() - beforeMs, task.costMs / 2);
    }
  }

  /**
   * Reads the energy counters now, so that the snapshot's energy matches its time: at 700 W a reading that is a tenth of a second
   * old is 70 J off, and so is the energy of a short run. Counters beyond the budget are read between passes as usual.
   */
  readCounters(nowMs: number, clock: () => number): void {
    if (this.#doze.dozing || this.#goneWith !== undefined) return;
    const startMs = clock();
    for (const card of this.#cards) {
      if (clock() - startMs > countersMs) return;
      const task = card.scheduler.find(({ name }) => name === energyTask);
      if (task === undefined || card.lostSinceMs !== undefined) continue;
      task.dueMs = nowMs + task.everyMs;
      if (this.#run(card, task, nowMs)) this.#isStill(card, nowMs);
    }
  }

  snapshot(tier: Tier, nowMs: number, knows: number): WorkerSnapshot {
    const boards = this.#boards;
    const board = boards?.[tier];
    const copied = board?.snapshot(nowMs) ?? {
      values: new Float64Array(0),
      presence: new Uint8Array(0),
    };
    const { version } = this.#plan;
    return {
      version,
      ...(knows === version ? {} : { plan: this.#plan }),
      ...copied,
      ...(tier === "fast" ? this.#losses() : {}),
      ...(tier === "slow"
        ? {
            processes: this.#cards.flatMap((card) =>
              card.lostSinceMs === undefined ? card.processes : [],
            ),
            xids: this.#xids.readings(this.#cards),
          }
        : {}),
    };
  }

  #losses(): Pick<WorkerSnapshot, "losses"> {
    const lost = this.#cards.filter(({ lostSinceMs }) => lostSinceMs !== undefined);
    if (lost.length === 0) return {};
    return {
      losses: Object.fromEntries(
        lost.map(({ device, lossReason = "the driver no longer lists it" }) => [
          device.uuid,
          lossReason,
        ]),
      ),
    };
  }

  /** Returns false if the card is lost, so that the rest of its calls can be skipped. */
  #run(card: NvmlCard, task: Task, nowMs: number): boolean {
    return this.#follow(card, task.run(nowMs), nowMs);
  }

  #follow(card: NvmlCard, got: number, nowMs: number): boolean {
    if (meansDriverGone(got)) this.#loseDriver(got, nowMs);
    else if (meansLost(got)) this.#lose(card, nowMs, `NVML reports ${codeName(got)}`);
    return card.lostSinceMs === undefined;
  }

  /**
   * True if the values just read belong to this card: after a driver reload its handle may be another GPU's. Checked after the
   * readings, so that none is returned unchecked. If they do not, all handles are dropped and the driver is reopened.
   */
  #isStill(card: NvmlCard, nowMs: number): boolean {
    const got = checkIdentity(this.#nvml, card.handle, card.device.uuid);
    if (got === code.success) return true;
    if (meansDriverGone(got)) this.#loseDriver(got, nowMs);
    else if (isUnsupported(got)) {
      this.#loseDriver(code.uninitialized, nowMs);
      this.#reopenAtMs = Math.max(nowMs, this.#openedAtMs + reopenSoonMs);
    } else this.#lose(card, nowMs, `NVML reports ${codeName(got)}`);
    return false;
  }

  #soonest(): { card: NvmlCard; task: Task } | undefined {
    if (this.#doze.dozing) return undefined;
    let soonest: { card: NvmlCard; task: Task } | undefined;
    for (const card of this.#cards) {
      if (card.lostSinceMs !== undefined) continue;
      for (const task of card.scheduler)
        if (soonest === undefined || task.dueMs < soonest.task.dueMs) soonest = { card, task };
    }
    return soonest;
  }

  #lose(card: NvmlCard, nowMs: number, reason: string): void {
    card.lostSinceMs = nowMs;
    card.lossReason = reason;
    this.#reopenAtMs = nowMs + reopenEveryMs;
    const boards = this.#boards;
    if (boards === undefined) return;
    for (const board of [boards.fast, boards.slow, boards.static])
      board.lose(card.at, presence.failed);
    boards.fast.set(card.upSlot, 0, nowMs);
  }

  #loseDriver(got: number, nowMs: number): void {
    const reason = `the driver is gone: NVML reports ${codeName(got)}`;
    for (const card of this.#cards)
      if (card.lostSinceMs === undefined) this.#lose(card, nowMs, reason);
    this.#goneWith = got;
    this.#xids.forget();
    this.#reopenAtMs = nowMs + reopenSoonMs;
  }

  /** Checks for lost and new cards, and updates a lost card's gpu_up 0. */
  #look(nowMs: number): void {
    this.#lookAtMs = nowMs + lookEveryMs;
    if (this.#goneWith === undefined) {
      const addresses = this.#cards.map(({ device }) => device.pciBusId);
      const isIdle = this.#cards.every(
        (card) =>
          card.instance !== undefined ||
          (card.isPersistent === false &&
            card.utilizationRatio === 0 &&
            card.processes.length === 0),
      );
      const advice = this.#doze.advise(nowMs, isIdle, () => this.#sleep.together(addresses));
      if (advice === "let-go") this.#letGo();
      if (advice === "take-up") this.#reopen(nowMs);
      if (this.#doze.dozing || advice === "take-up") return;
      this.#xids.collect(this.#cards, nowMs);
      this.#noteWatched(nowMs);
    }
    const lost = this.#cards.filter(({ lostSinceMs }) => lostSinceMs !== undefined);
    for (const card of lost) {
      this.#boards?.fast.set(card.upSlot, 0, nowMs);
      if (this.#goneWith === undefined && this.#answers(card)) delete card.lostSinceMs;
    }
    const isGone = this.#goneWith !== undefined;
    const someLost = lost.some(({ lostSinceMs }) => lostSinceMs !== undefined);
    if ((isGone || someLost) && nowMs >= this.#reopenAtMs) return this.#reopen(nowMs);
    if (!isGone && nowMs >= this.#listAtMs) this.#list(nowMs);
  }

  /** Closes the driver, which keeps the GPUs awake while it is open; the readings are then absent with reason `asleep`. */
  #letGo(): void {
    this.#shutDown();
    this.#unread = [];
    const boards = this.#boards;
    for (const { at, lostSinceMs } of this.#cards) {
      if (boards === undefined || lostSinceMs !== undefined) continue;
      for (const board of [boards.fast, boards.slow, boards.static])
        board.lose(at, presence.asleep);
    }
  }

  #noteWatched(nowMs: number): void {
    for (const card of this.#cards) {
      if (card.xidSlot === undefined || card.lostSinceMs !== undefined) continue;
      if (this.#xids.isWatched(card)) this.#boards?.slow.set(card.xidSlot, 1, nowMs);
      else this.#boards?.slow.absent(card.xidSlot, presence.unsupported, nowMs);
    }
  }

  #answers({ handle, device }: NvmlCard): boolean {
    if (handle === noHandle) return false;
    const got = this.#nvml.nvmlDeviceGetMemoryInfo(handle, Buffer.alloc(24));
    if (meansLost(got) || meansDriverGone(got) || got === code.invalidArgument) return false;
    return checkIdentity(this.#nvml, handle, device.uuid) === code.success;
  }

  /** Shuts NVML down and drops all handles: the driver reuses the numbers for whatever it lists next. */
  #shutDown(): void {
    this.#nvml.nvmlShutdown();
    this.#xids.forget();
    for (const card of this.#cards) card.handle = noHandle;
  }

  #reopen(nowMs: number): void {
    const allLost = this.#cards.every(({ lostSinceMs }) => lostSinceMs !== undefined);
    this.#reopenAtMs = nowMs + (allLost ? reopenSoonMs : reopenEveryMs);
    this.#openedAtMs = nowMs;
    this.#shutDown();
    const opened = this.#nvml.nvmlInit_v2();
    if (opened !== code.success) return this.#loseDriver(opened, nowMs);
    const { code: got, found } = readInventory(this.#nvml);
    if (got !== code.success) return this.#loseDriver(got, nowMs);
    this.#goneWith = undefined;
    this.#arrange(found, nowMs);
  }

  /** Lists the GPUs. A new GPU or MIG instance, or one listed again, requires a new plan; one no longer listed is lost. */
  #list(nowMs: number): void {
    this.#scheduleList(nowMs);
    const { code: got, found } = readInventory(this.#nvml);
    if (meansDriverGone(got)) return this.#loseDriver(got, nowMs);
    if (got !== code.success) return;
    const cards = new Map(this.#cards.map((card) => [card.device.uuid, card]));
    const isNew = ({ device, handle, instance }: ListedDevice): boolean => {
      const known = cards.get(device.uuid)?.handle ?? noHandle;
      return known === noHandle || (instance === undefined && known !== handle);
    };
    if (found.some(isNew)) return this.#arrange(found, nowMs);
    const listed = new Set(found.map(({ device }) => device.uuid));
    for (const card of this.#cards) {
      if (listed.has(card.device.uuid)) continue;
      card.handle = noHandle;
      if (card.lostSinceMs === undefined) this.#lose(card, nowMs, "the driver no longer lists it");
    }
  }

  #scheduleList(nowMs: number): void {
    const isOneUnlisted = this.#cards.some(({ handle }) => handle === noHandle);
    this.#listAtMs = nowMs + (isOneUnlisted ? listSoonMs : listEveryMs);
  }

  /** Makes the plan from every card seen so far; cards not found now are in it as lost. */
  #arrange(found: readonly ListedDevice[], nowMs: number): void {
    const lost = new Set(this.#known.keys());
    for (const one of found) {
      this.#known.set(one.device.uuid, one);
      lost.delete(one.device.uuid);
    }
    for (const uuid of lost) {
      const known = this.#known.get(uuid);
      if (known !== undefined) this.#known.set(uuid, { ...known, handle: noHandle });
    }
    const known = [...this.#known.values()];
    const { cards, boards } = buildCards(
      this.#nvml,
      known,
      this.#settings,
      this.#random,
      this.#sleep,
    );
    this.#cards = cards;
    this.#boards = boards;
    this.#plan = {
      version: this.#plan.version + 1,
      devices: cards.map(({ device }) => device),
      series: {
        fast: boards.fast.series,
        slow: boards.slow.series,
        static: boards.static.series,
      },
    };
    this.#scheduleList(nowMs);
    this.#lookAtMs = nowMs + lookEveryMs;
    for (const card of cards) {
      if (lost.has(card.device.uuid)) this.#lose(card, nowMs, "the driver no longer lists it");
      else demoteCostlyTasks(card, nowMs);
    }
    this.#xids.watch(cards.filter(({ lostSinceMs }) => lostSinceMs === undefined));
    this.#noteWatched(nowMs);
    // Tasks with two samples come first, so that the second is due when the rest has been read.
    this.#unread = cards
      .flatMap((card) =>
        card.lostSinceMs === undefined ? card.scheduler.map((task) => ({ card, task })) : [],
      )
      .toSorted(
        (a, b) =>
          Number(a.task.needsAnother === undefined) - Number(b.task.needsAnother === undefined),
      );
  }
}
