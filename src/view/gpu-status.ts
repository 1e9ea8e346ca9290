/**
 * The badges of a GPU (lost, throttled, XID, ECC …) with their severity. Only problems are coloured; all of these rules are in this
 * file.
 */
import { boundMeanings, boundWords } from "../model/bound.ts";
import { formatAge } from "./age.ts";
import { clock, clockMax, type Gpu, powerRatio, read, temperatureMargin } from "./gpu.ts";
import { healthStates, type JudgedState } from "./health/verdict.ts";
import { findXid, formatXid } from "./health/xids.ts";
import type { WireValue, WireXid } from "./live/protocol.ts";

export type Level = "note" | "warn" | "bad";

export interface StatusBadge {
  readonly text: string;
  readonly level: Level;
  readonly tip: string;
}

/** Within this distance of its own limit, a GPU is about to slow down. */
const NEAR_LIMIT_CELSIUS = 5;
/** An XID is an event, not a state: it is shown for this long. */
const XID_SHOWN_MS = 3_600_000;

/** Below this share of its limit, a reported power cap does not limit the clocks. */
export const CAPPED_FROM_RATIO = 0.85;
/** A busy GPU below this share of its highest clock performs far below its specification. */
const SLOW_CLOCK_RATIO = 0.5;
const SLOW_FROM_UTILIZATION = 0.8;

const badge = (text: string, level: Level, tip: string): StatusBadge => ({ text, level, tip });

const throttleBadges: Readonly<Record<string, StatusBadge>> = {
  power_cap: badge("power cap", "note", "At its power limit: usual under full load."),
  power_brake: badge(
    "power brake",
    "bad",
    "The machine's power supply forces the GPU to slow down.",
  ),
  thermal: badge("thermal", "warn", "Clocks are lowered because it is too hot."),
  thermal_hardware: badge("hw thermal", "bad", "The hardware itself cut the clocks: far too hot."),
  sync_boost: badge("sync boost", "note", "Held to the clock of the slowest GPU of its group."),
  clock_setting: badge("clock limit", "note", "A user has set a lower clock for it."),
};

export const throttleBadge = (reason: string): StatusBadge =>
  throttleBadges[reason] ?? badge(reason.replaceAll("_", " "), "note", "Clocks are held down.");

/**
 * Badges for the current throttle reasons. A power cap far below the limit is omitted; an application clock that halves the speed
 * is a warning.
 */
function throttleBadgesOf(gpu: Gpu): StatusBadge[] {
  const { throttle } = gpu.row;
  if (typeof throttle === "string") return [];
  const [power, busy] = [powerRatio(gpu), read(gpu, "utilization")];
  const isFarBelow = typeof power === "number" && power < CAPPED_FROM_RATIO;
  const share = clockShare(gpu);
  const isSlow =
    share !== undefined &&
    share < SLOW_CLOCK_RATIO &&
    typeof busy === "number" &&
    busy >= SLOW_FROM_UTILIZATION;
  return throttle.flatMap((reason) => {
    if (reason === "power_cap" && isFarBelow) return [];
    const own = throttleBadge(reason);
    if (reason !== "clock_setting" || !isSlow) return [own];
    const percent = Math.round(share * 100);
    return [badge(own.text, "warn", `Busy at ${percent} % of its maximum clock.`)];
  });
}

/** Share of the highest clock. */
function clockShare(gpu: Gpu): number | undefined {
  const [now, most] = [clock(gpu), clockMax(gpu)];
  return typeof now === "number" && typeof most === "number" && most > 0 ? now / most : undefined;
}

/** Badge for the bottleneck of the GPU's work, with its meaning and the activity behind it; undefined if unknown. */
export function boundBadge(gpu: Gpu): StatusBadge | undefined {
  const word = boundWords.find((known) => known === gpu.row.bound);
  if (word === undefined) return undefined;
  const share = (name: string, value: WireValue): string[] =>
    typeof value === "number" ? [`${name} ${Math.round(value * 100)} %`] : [];
  const numbers = [
    ...share("busy", read(gpu, "utilization")),
    ...share("SM", read(gpu, "smActivity")),
    ...share("tensor", read(gpu, "tensorActivity")),
    ...share("memory", read(gpu, "dramActivity")),
  ];
  const level = word === "thermal" ? "warn" : "note";
  return badge(word, level, `${boundMeanings[word]}\n${numbers.join(", ")}`);
}

/** Badge for the verdict that the GPU's agent reports; undefined if it reports none. */
export function healthBadge(gpu: Gpu): StatusBadge | undefined {
  const value = read(gpu, "healthState");
  const state = typeof value === "number" ? healthStates[value] : undefined;
  return state === undefined ? undefined : badge(state, healthLevels[state], "");
}

export function temperatureLevel(gpu: Gpu): Level | undefined {
  const margin = temperatureMargin(gpu);
  if (typeof margin !== "number") return undefined;
  if (margin <= 0) return "bad";
  return margin <= NEAR_LIMIT_CELSIUS ? "warn" : undefined;
}

/** Worst first. */
export function statusBadges(gpu: Gpu): readonly StatusBadge[] {
  const { row, state } = gpu;
  if (state === "lost") return [badge("lost", "bad", "This GPU has stopped responding.")];
  if (state === "silent") return [badge("silent", "warn", "Its source has sent nothing recent.")];
  const badges = (row.xids ?? []).flatMap((xid) => xidBadges(xid, gpu.timeMs));
  badges.push(...eccBadges(gpu));
  if (state === "asleep")
    badges.push(badge("asleep", "note", "Powered down by its driver; reading it would wake it."));
  badges.push(...throttleBadgesOf(gpu));
  return badges.sort((left, right) => rank[right.level] - rank[left.level]);
}

/**
 * Uncorrectable errors since boot are critical, as their alert is. They are a warning once the agent's verdict, which knows their
 * time, calls the GPU no worse than degraded: a day after the last one.
 */
function eccBadges(gpu: Gpu): StatusBadge[] {
  const count = read(gpu, "eccUncorrected");
  if (typeof count !== "number" || count === 0) return [];
  const level = read(gpu, "healthState") === healthStates.indexOf("degraded") ? "warn" : "bad";
  const errors =
    count === 1 ? "1 uncorrectable memory error" : `${count} uncorrectable memory errors`;
  return [badge(`ECC ${count}`, level, `${errors} since boot.`)];
}

const healthLevels: Readonly<Record<JudgedState, Level>> = {
  healthy: "note",
  degraded: "warn",
  failing: "bad",
  lost: "bad",
};

function xidBadges({ xid, count, lastMs }: WireXid, nowMs: number): StatusBadge[] {
  if (lastMs !== undefined && nowMs - lastMs > XID_SHOWN_MS) return [];
  const when = lastMs === undefined ? "" : `, last ${formatAge(nowMs - lastMs)} ago`;
  const times = count === 1 ? "once" : `${count} times`;
  const entry = findXid(Number(xid));
  // An application's error is no fault of the GPU.
  const level = healthLevels[entry?.state ?? "degraded"];
  const name = entry === undefined ? `NVIDIA error ${xid}` : formatXid(Number(xid));
  return [badge(`XID ${xid}`, level, `${name}, seen ${times}${when}.`)];
}

/** Higher is worse. */
export const rank: Readonly<Record<Level, number>> = { note: 1, warn: 2, bad: 3 };

/** Returns 0 without problems; higher is worse. */
export function severity(gpu: Gpu): number {
  const health = healthBadge(gpu)?.level;
  const levels = [
    ...statusBadges(gpu).map(({ level }) => level),
    temperatureLevel(gpu),
    health === "note" ? undefined : health,
  ];
  return Math.max(0, ...levels.map((level) => (level === undefined ? 0 : rank[level])));
}
