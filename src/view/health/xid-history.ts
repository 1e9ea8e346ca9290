/**
 * Xids of one GPU over time, as reasons. Lines of one burst are one occurrence, pairs that cancel are dropped, and an application
 * error is blamed on the application until several applications have it. Pure.
 */
import { formatAge } from "../age.ts";
import type { HealthReason } from "./verdict.ts";
import { findXid, formatXid } from "./xids.ts";

export interface XidEvent {
  readonly timeMs: number;
  readonly xid: number;
  /** The user or namespace on the GPU, or the program's name; absent if unknown. */
  readonly application?: string;
}

/** The silence that ends a burst: one fault writes dozens of lines within minutes. */
export const burstGapMs = 3 * 60_000;
/** How long an application error is shown as a note. */
const noteMs = 3_600_000;
/** How long a fault that needs an action stays active if it is unknown whether the action was taken. */
const faultMs = 24 * 3_600_000;
/** Most events per GPU; the newest are retained. */
const mostEvents = 1_000;

interface Burst {
  readonly xid: number;
  readonly firstMs: number;
  lastMs: number;
  count: number;
}

export class XidHistory {
  #events: XidEvent[] = [];

  /** Two sources may report one event. Within a burst that changes only the count, so events at the same instant count once. */
  add(event: XidEvent): void {
    const isKnown = this.#events.some(
      ({ xid, timeMs, application }) =>
        xid === event.xid &&
        Math.abs(timeMs - event.timeMs) < 2_000 &&
        (application === event.application || event.application === undefined),
    );
    if (isKnown) return;
    this.#events.push(event);
    if (this.#events.length > mostEvents) this.#events = this.#events.slice(-mostEvents / 2);
  }

  /** Removes earlier events after a reset of the GPU or a reboot of its machine. */
  forgetBefore(timeMs: number): void {
    this.#events = this.#events.filter((event) => event.timeMs > timeMs);
  }

  reasons(nowMs: number): HealthReason[] {
    if (this.#events.length === 0) return [];
    this.#events = this.#events
      .filter(({ timeMs }) => nowMs - timeMs < faultMs)
      .sort((left, right) => left.timeMs - right.timeMs);
    return judgeXids(this.#events, nowMs);
  }
}

/** @param events oldest first */
export function judgeXids(events: readonly XidEvent[], nowMs: number): HealthReason[] {
  const bursts = joinBursts(events);
  const numbers = [...new Set(bursts.map(({ xid }) => xid))];
  return numbers.flatMap((xid) => {
    const own = bursts.filter((burst) => burst.xid === xid);
    const last = own.at(-1);
    if (last === undefined) return [];
    const entry = findXid(xid);
    const end = bursts.findLast((burst) => burst.xid === entry?.endedBy);
    if (end !== undefined && end.lastMs >= last.lastMs) return [];
    // An Xid that only ends another one is not a reason by itself.
    if (bursts.some((burst) => findXid(burst.xid)?.endedBy === xid)) return [];
    if (entry?.isFollowUp === true && bursts.some((burst) => isBeside(burst, last))) return [];
    return judgeXid(xid, own, last, applicationsOf(events, xid), nowMs);
  });
}

function judgeXid(
  xid: number,
  bursts: readonly Burst[],
  last: Burst,
  applications: readonly string[],
  nowMs: number,
): HealthReason[] {
  const entry = findXid(xid);
  const hasMoved = entry?.followsApplication === true && applications.length > 1;
  const state = hasMoved ? "degraded" : (entry?.state ?? "degraded");
  const action = hasMoved ? "reset_gpu" : (entry?.action ?? "inspect");
  if (nowMs - last.lastMs >= (state === "healthy" ? noteMs : faultMs)) return [];
  const count = bursts.reduce((sum, burst) => sum + burst.count, 0);
  const meaning = entry?.meaning ?? "This number is not in NVIDIA's catalogue.";
  const where = applications.length === 0 ? "" : ` in ${applications.join(", ")}`;
  const moved = hasMoved
    ? ` It occurred in ${applications.length} applications: the GPU is the likely cause.`
    : "";
  return [
    {
      check: "driver_errors",
      reason: `xid_${xid}`,
      title: formatXid(xid),
      state,
      action,
      text: `${formatXid(xid)}: ${times(count)}${bursts.length > 1 ? ` in ${bursts.length} bursts` : ""}${where}, last ${formatAge(nowMs - last.lastMs, " ")} ago. ${meaning}${moved}`,
      sinceMs: bursts[0]?.firstMs ?? last.firstMs,
    },
  ];
}

function joinBursts(events: readonly XidEvent[]): Burst[] {
  const bursts: Burst[] = [];
  for (const { xid, timeMs } of events) {
    const open = bursts.findLast((burst) => burst.xid === xid);
    if (open !== undefined && timeMs - open.lastMs <= burstGapMs) {
      open.lastMs = timeMs;
      open.count += 1;
    } else bursts.push({ xid, firstMs: timeMs, lastMs: timeMs, count: 1 });
  }
  return bursts;
}

const applicationsOf = (events: readonly XidEvent[], xid: number): string[] => [
  ...new Set(
    events.flatMap((event) =>
      event.xid === xid && event.application !== undefined ? [event.application] : [],
    ),
  ),
];

const isBeside = (burst: Burst, other: Burst): boolean =>
  burst.xid !== other.xid &&
  findXid(burst.xid)?.isFollowUp !== true &&
  burst.firstMs <= other.lastMs + burstGapMs &&
  burst.lastMs >= other.firstMs - burstGapMs;

const times = (count: number): string => (count === 1 ? "once" : `${count} times`);
