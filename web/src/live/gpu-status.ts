/** What is worth a word about a GPU, and how loud. Colour is for trouble only, so the rules stand here, in one place. */
import type { WireXid } from "../../../src/view/live/protocol.ts";
import { age } from "../format/quantity.ts";
import { type Gpu, read, temperatureMargin } from "./gpu.ts";

export type Level = "note" | "warn" | "bad";

export interface Word {
  readonly text: string;
  readonly level: Level;
  readonly tip: string;
}

/** A GPU this close below its own limit is about to slow down. */
const NEAR_LIMIT_CELSIUS = 5;
/** An XID is an event, not a state: after this long it is history. */
const XID_SHOWN_MS = 3_600_000;

const throttleWords: Readonly<Record<string, Word>> = {
  power_cap: {
    text: "power cap",
    level: "note",
    tip: "At its power limit: usual under full load.",
  },
  power_brake: {
    text: "power brake",
    level: "bad",
    tip: "The machine's power supply tells the GPU to slow down.",
  },
  thermal: { text: "thermal", level: "warn", tip: "Clocks are lowered because it is too hot." },
  thermal_hardware: {
    text: "hw thermal",
    level: "bad",
    tip: "The hardware itself cut the clocks: far too hot.",
  },
  sync_boost: {
    text: "sync boost",
    level: "note",
    tip: "Held to the clock of the slowest GPU of its group.",
  },
  clock_setting: { text: "clock set", level: "note", tip: "Someone set a lower clock for it." },
};

export const throttleWord = (reason: string): Word =>
  throttleWords[reason] ?? {
    text: reason.replaceAll("_", " "),
    level: "note",
    tip: "Clocks are held down.",
  };

export function temperatureLevel(gpu: Gpu): Level | undefined {
  const margin = temperatureMargin(gpu);
  if (typeof margin !== "number") return undefined;
  if (margin <= 0) return "bad";
  return margin <= NEAR_LIMIT_CELSIUS ? "warn" : undefined;
}

/** Worst first. */
export function wordsOf(gpu: Gpu, nowMs: number): readonly Word[] {
  if (gpu.state === "lost")
    return [{ text: "lost", level: "bad", tip: "This GPU was there and no longer answers." }];
  if (gpu.state === "silent")
    return [{ text: "silent", level: "warn", tip: "Its source has delivered nothing fresh." }];
  const words: Word[] = [];
  for (const xid of gpu.row.xids ?? []) words.push(...xidWords(xid, nowMs));
  const ecc = read(gpu, "eccUncorrected");
  if (typeof ecc === "number" && ecc > 0) {
    words.push({
      text: `ECC ${ecc}`,
      level: "warn",
      tip: `${ecc} memory errors since boot that ECC could not mend.`,
    });
  }
  if (gpu.state === "asleep")
    words.push({
      text: "asleep",
      level: "note",
      tip: "Powered down by its driver; reading it would wake it.",
    });
  if (typeof gpu.row.throttle !== "string") {
    for (const reason of gpu.row.throttle) {
      words.push(throttleWord(reason));
    }
  }
  return words.sort((left, right) => rank[right.level] - rank[left.level]);
}

function xidWords({ xid, count, lastMs }: WireXid, nowMs: number): Word[] {
  if (lastMs !== undefined && nowMs - lastMs > XID_SHOWN_MS) return [];
  const when = lastMs === undefined ? "" : `, last ${age(nowMs - lastMs)} ago`;
  return [
    {
      text: `XID ${xid}`,
      level: "bad",
      tip: `NVIDIA error ${xid}, seen ${count === 1 ? "once" : `${count} times`}${when}.`,
    },
  ];
}

const rank: Readonly<Record<Level, number>> = { note: 1, warn: 2, bad: 3 };

/** 0 when all is well; higher is worse. */
export function severity(gpu: Gpu, nowMs: number): number {
  const loudest = Math.max(0, ...wordsOf(gpu, nowMs).map(({ level }) => rank[level]));
  const heat = temperatureLevel(gpu);
  return Math.max(loudest, heat === undefined ? 0 : rank[heat]);
}
