/** Formats the comparison of two snapshots: the verdict first, then differences, then ignored differences and why. */
import type { Snapshot, SnapshotDiff } from "../../machine/snapshot.ts";
import { paint } from "./paint.ts";

const titles = {
  fact: "Changed",
  reading: "Another load",
  process: "Processes",
} as const;

const words = { same: "SAME", changed: "CHANGED", loaded: "LOADED" } as const;
const colours = { same: "green", changed: "red", loaded: "yellow" } as const;

export function formatSnapshotDiff(
  diff: SnapshotDiff,
  before: Snapshot,
  after: Snapshot,
  colour: boolean,
): string {
  const style = paint(colour);
  const lines = [
    `${style.bold(style[colours[diff.verdict]](words[diff.verdict]))}  ${diff.sentence}`,
    style.dim(`        ${about(before)}  →  ${about(after)}`),
  ];
  const section = (title: string, items: readonly string[]): void => {
    if (items.length === 0) return;
    lines.push("", style.bold(`${title}:`), ...items.map((item) => `  ${item}`));
  };
  for (const kind of ["fact", "reading", "process"] as const)
    section(
      titles[kind],
      diff.changes.filter((change) => change.kind === kind).map(({ sentence }) => sentence),
    );
  section(
    "Not comparable",
    diff.unproven.map(({ sentence }) => sentence),
  );
  section("No change, but worth knowing", diff.notes);
  return `${lines.join("\n")}\n`;
}

const about = ({ host, takenAt, label }: Snapshot): string =>
  `${label === undefined ? "" : `${label}, `}${host} ${takenAt.slice(0, 19).replace("T", " ")}`;
