/** State of one GPU between frames: readings, growth, how long conditions have held, and its Xids. Time comes from frames. */
import type { Frame } from "../../model/frame.ts";
import { type ConditionName, conditions } from "./conditions.ts";
import { Growth, SmoothedValue } from "./growth.ts";
import { type GpuInput, HealthReadings, type PlannedInput } from "./inputs.ts";
import type { HealthReason, UncheckedCheck } from "./verdict.ts";
import { XidHistory } from "./xid-history.ts";

/** Counters whose growth is tracked. A memory error counter that decreases shows a reset of the GPU. */
const counters = [
  "eccCorrected",
  "eccUncorrected",
  "blockCorrected",
  "blockUncorrected",
  "linkRecoveries",
  "linkErrors",
  "pcieReplays",
  "pcieFatal",
  "pcieNonfatal",
] as const satisfies readonly GpuInput[];
export type CounterInput = (typeof counters)[number];
const isCounter = (name: string): name is CounterInput =>
  (counters as readonly string[]).includes(name);

/** The verdict of the GPU's own agent, decoded from its series. */
export interface ReportedVerdict {
  readonly reasons: readonly HealthReason[];
  readonly unchecked: readonly UncheckedCheck[];
}

interface HeldCondition {
  sinceMs: number;
  lastMs: number;
  /** True once the condition has held long enough, until it has been false for long enough. */
  isActive: boolean;
}

/** Longer gaps between frames do not count towards the time that a condition has held. */
const longestGapMs = 30_000;

export class GpuRecord {
  readonly readings = new HealthReadings();
  readonly xids = new XidHistory();
  readonly busy = new SmoothedValue();
  readonly clockRatio = new SmoothedValue();
  readonly clockHeld = new SmoothedValue();
  readonly heatSeconds = new Growth();
  readonly brakeSeconds = new Growth();
  /** Minutes in which the driver logged a hang or reset; one fault writes several lines. */
  readonly driverResets = new Growth();
  readonly #growth = new Map<CounterInput, Growth>();
  readonly #held = new Map<ConditionName, HeldCondition>();
  readonly xidCounts = new Map<string, number>();
  reported: ReportedVerdict | undefined;
  /** Owner of the GPU, for the history of Xids. */
  owner: string | undefined;
  /** The recovery action of the last Xid 154, for drivers that report it only there. */
  loggedRecovery: number | undefined;
  mostLinksUp = 0;
  firstMs = 0;
  timeMs = 0;
  #fastMs = 0;

  take(frame: Frame, inputs: readonly PlannedInput[], settleMs: number): void {
    const { timeMs } = frame;
    if (this.firstMs === 0) this.firstMs = timeMs;
    this.timeMs = Math.max(this.timeMs, timeMs);
    let isFast = false;
    for (const input of inputs) {
      this.readings.take(frame, input);
      if (input.name === "up") isFast = true;
      if (isCounter(input.name)) this.#count(input.name, timeMs);
    }
    // A source that is down reports only `up`.
    if (isFast) this.#follow(timeMs, settleMs);
  }

  growth(name: CounterInput): Growth | undefined {
    return this.#growth.get(name);
  }

  /** Returns since when a condition has held, if it has held long enough. */
  since(name: ConditionName): number | undefined {
    const held = this.#held.get(name);
    return held?.isActive === true ? held.sinceMs : undefined;
  }

  /** Clears past errors after a reset or repair of the GPU. */
  forgetErrors(timeMs: number): void {
    for (const growth of this.#growth.values()) growth.clear();
    this.xids.forgetBefore(timeMs);
    this.heatSeconds.clear();
    this.brakeSeconds.clear();
    this.driverResets.clear();
    this.loggedRecovery = undefined;
    this.#held.clear();
  }

  #count(name: CounterInput, timeMs: number): void {
    const value = this.readings.get(name);
    if (value === undefined) return;
    let growth = this.#growth.get(name);
    if (growth === undefined) this.#growth.set(name, (growth = new Growth()));
    const fell = growth.count(value, timeMs);
    if (fell && (name === "eccUncorrected" || name === "eccCorrected")) this.forgetErrors(timeMs);
  }

  #follow(timeMs: number, settleMs: number): void {
    const { readings } = this;
    const gapMs = timeMs - this.#fastMs;
    this.#fastMs = timeMs;
    this.busy.take(readings.get("utilization"), timeMs);
    this.clockHeld.take(readings.get("clockHeld"), timeMs);
    const clock = readings.get("clockHertz");
    const most = readings.get("clockMaxHertz");
    this.clockRatio.take(
      clock === undefined || most === undefined || most <= 0 ? undefined : clock / most,
      timeMs,
    );
    this.mostLinksUp = Math.max(this.mostLinksUp, readings.get("linksUp") ?? 0);
    if (gapMs > 0 && gapMs <= longestGapMs) {
      if (readings.get("heatThrottled") === 1) this.heatSeconds.add(gapMs / 1_000, timeMs);
      if (readings.get("powerBrake") === 1) this.brakeSeconds.add(gapMs / 1_000, timeMs);
    }
    for (const condition of conditions) {
      const holds = condition.holds(this);
      let held = this.#held.get(condition.name);
      if (held === undefined) {
        if (!holds) continue;
        held = { sinceMs: timeMs, lastMs: timeMs, isActive: false };
        this.#held.set(condition.name, held);
      }
      if (holds) {
        held.lastMs = timeMs;
        const needMs = condition.isQuick ? Math.min(condition.needMs, settleMs) : condition.needMs;
        if (timeMs - held.sinceMs >= needMs) held.isActive = true;
      } else if (!held.isActive || timeMs - held.lastMs >= condition.keepMs)
        this.#held.delete(condition.name);
    }
  }
}
