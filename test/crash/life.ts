// Draws what happens in one life of the hub, from its launch to its kill: the moment of the kill, faults of the disk, jumps of the
// clock, a second hub on the same folder. Everything comes from one seeded source of chance.

import type { FaultRule, Operation, Outcome } from "./rules.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

export interface Life {
  /** Why the process ends; the rules contain the moment where it is an operation on a file. */
  readonly kill: string;
  readonly rules: readonly FaultRule[];
  /** Where no rule kills it before: so long after the launch, or after it listens. */
  readonly killAfter: "launch" | "listening";
  readonly killAfterMs: number;
  /** The wall clock's offset at the launch, and from some moment on. */
  readonly clock: {
    readonly startMs: number;
    readonly jumpMs: number;
    readonly jumpAfterMs: number;
  };
  readonly secondHub: "none" | "same namespace" | "other namespace" | "race";
  /** Names of all faults that are planned. */
  readonly faults: readonly string[];
}

export class Chance {
  readonly #next: () => number;

  constructor(next: () => number) {
    this.#next = next;
  }

  between(least: number, most: number): number {
    return least + this.#next() * (most - least);
  }

  whole(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  is(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#next() * items.length)];
    if (item === undefined) throw new Error("BUG: nothing to choose from");
    return item;
  }
}

const walFile = String.raw`^wal/\d+\.wal$`;
const blockFile = String.raw`^blocks/\d+\.block$`;
const blockTmp = String.raw`^blocks/\d+\.block\.tmp$`;
const rollupFile = String.raw`^rollups/\d+-\w+\.block$`;
const rollupTmp = String.raw`^rollups/\d+-\w+\.block\.tmp$`;
const seriesFile = String.raw`^series-\d+\.(log|check)$`;

interface KillPoint {
  readonly name: string;
  readonly operations: readonly Operation[];
  readonly file: string;
  readonly outcomes: readonly Outcome[];
  /** How many such operations may proceed before. */
  readonly most: number;
}

const killPoints: readonly KillPoint[] = [
  {
    name: "in a write to the log",
    operations: ["write"],
    file: walFile,
    outcomes: ["kill, torn", "kill", "kill after"],
    most: 60,
  },
  {
    name: "in a write of the acknowledged mark",
    operations: ["write"],
    file: "^wal/acknowledged$",
    outcomes: ["kill, torn", "kill", "kill after"],
    most: 60,
  },
  {
    name: "in a write to the series log",
    operations: ["write"],
    file: seriesFile,
    outcomes: ["kill, torn", "kill", "kill after"],
    most: 6,
  },
  {
    name: "in a write of a block",
    operations: ["write", "sync"],
    file: blockTmp,
    outcomes: ["kill, torn", "kill", "kill after"],
    most: 12,
  },
  {
    name: "when a block gets its name",
    operations: ["rename"],
    file: blockFile,
    outcomes: ["kill", "kill after"],
    most: 3,
  },
  {
    name: "in a write of a rollup",
    operations: ["write", "sync"],
    file: rollupTmp,
    outcomes: ["kill, torn", "kill", "kill after"],
    most: 6,
  },
  {
    name: "when a rollup gets its name",
    operations: ["rename"],
    file: rollupFile,
    outcomes: ["kill", "kill after"],
    most: 3,
  },
  {
    name: "in a write of the manifest",
    operations: ["write", "sync"],
    file: String.raw`^manifest\.json\.tmp$`,
    outcomes: ["kill, torn", "kill", "kill after"],
    most: 4,
  },
  {
    name: "when the manifest is replaced",
    operations: ["rename"],
    file: String.raw`^manifest\.json$`,
    outcomes: ["kill", "kill after"],
    most: 4,
  },
  {
    name: "when a file is removed",
    operations: ["remove"],
    file: "^(wal|blocks|rollups)/",
    outcomes: ["kill", "kill after"],
    most: 8,
  },
  {
    name: "at any operation of the start",
    operations: ["open", "read", "write", "sync", "rename", "remove"],
    file: "",
    outcomes: ["kill, torn", "kill", "kill after"],
    most: 60,
  },
];

const folders = String.raw`^(\.|wal|blocks|rollups)$`;
const anyFile = [
  folders,
  walFile,
  blockTmp,
  rollupTmp,
  seriesFile,
  String.raw`^manifest\.json`,
  "^wal/acknowledged$",
  "",
];

/** The first few operations of a life belong to its start. */
const diskFaults: Readonly<Record<string, (chance: Chance) => FaultRule>> = {
  "EIO on write": (chance) => ({
    operations: ["write"],
    file: chance.pick(anyFile),
    after: chance.whole(0, 40),
    ...(chance.is(0.5) ? { times: chance.whole(1, 4) } : { forMs: chance.between(50, 400) }),
    outcome: "EIO",
  }),
  "EIO on fsync": (chance) => ({
    operations: ["sync"],
    file: chance.pick(anyFile),
    after: chance.whole(0, 6),
    ...(chance.is(0.5) ? { times: chance.whole(1, 4) } : { forMs: chance.between(50, 400) }),
    outcome: "EIO",
  }),
  "EIO on read": (chance) => ({
    operations: ["read"],
    file: chance.pick([blockFile, blockFile, blockFile, rollupFile, walFile, seriesFile, ""]),
    after: chance.whole(0, 20),
    ...(chance.is(0.5) ? { times: chance.whole(1, 4) } : { forMs: chance.between(50, 400) }),
    outcome: "EIO",
  }),
  "EIO on rename or removal": (chance) => ({
    operations: ["rename", "remove"],
    file: "",
    after: chance.whole(0, 10),
    times: chance.whole(1, 4),
    outcome: "EIO",
  }),
  "disk full": (chance) => ({
    operations: ["write"],
    file: "",
    after: chance.whole(0, 60),
    forMs: chance.between(50, 500),
    outcome: chance.pick(["ENOSPC", "ENOSPC, torn"]),
  }),
  "torn write": (chance) => ({
    operations: ["write"],
    file: chance.pick(anyFile),
    after: chance.whole(0, 40),
    times: chance.whole(1, 4),
    outcome: chance.pick(["EIO, torn", "ENOSPC, torn"]),
  }),
  "short write": (chance) => ({
    operations: ["write"],
    file: "",
    after: chance.whole(0, 40),
    times: chance.whole(1, 20),
    outcome: "short",
  }),
};

const clockOffsetsMs = [40 * dayMs, -40 * dayMs, 400 * dayMs, 5 * minuteMs, -5 * minuteMs, -dayMs];

export function drawLife(chance: Chance): Life {
  const faults: string[] = [];
  const rules: FaultRule[] = [];
  if (chance.is(0.6)) {
    const names = Object.keys(diskFaults);
    for (let left = chance.whole(1, 2); left > 0; left--) {
      const name = chance.pick(names);
      const rule = diskFaults[name]?.(chance);
      if (rule === undefined) continue;
      rules.push(rule);
      faults.push(name);
    }
  }
  const byRule = chance.is(0.55);
  const whileStarting = !byRule && chance.is(0.35);
  let kill = whileStarting ? "while starting" : "at any time";
  if (byRule) {
    const point = chance.pick(killPoints);
    kill = point.name;
    rules.push({
      operations: point.operations,
      file: point.file,
      after: chance.whole(0, point.most),
      outcome: chance.pick(point.outcomes),
    });
  }
  const clock = { startMs: 0, jumpMs: 0, jumpAfterMs: chance.between(0, 800) };
  if (chance.is(0.2)) {
    faults.push("clock jump");
    if (chance.is(0.5)) clock.startMs = clock.jumpMs = chance.pick(clockOffsetsMs);
    if (chance.is(0.7)) clock.jumpMs = chance.is(0.5) ? 0 : chance.pick(clockOffsetsMs);
  }
  const secondHub = chance.is(0.06)
    ? chance.pick(["same namespace", "other namespace", "race"] as const)
    : "none";
  if (secondHub !== "none") faults.push("second hub");
  return {
    kill,
    rules,
    killAfter: whileStarting ? "launch" : "listening",
    killAfterMs: whileStarting ? chance.between(20, 700) : chance.between(30, byRule ? 700 : 500),
    clock,
    secondHub,
    faults,
  };
}
