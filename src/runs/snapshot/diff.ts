/**
 * Compares two snapshots. Facts must be identical; memory and power of a GPU may differ by a threshold, beyond which the load
 * differs. GPUs are matched by uuid, never by index. Pure.
 */
import { compareErrors } from "./errors.ts";
import { compareFacts } from "./facts.ts";
import { compareLinks } from "./link.ts";
import { compareLoad } from "./load.ts";
import {
  defaultThresholds,
  type Snapshot,
  type SnapshotChange,
  type SnapshotDiff,
  type SnapshotThresholds,
} from "../../machine/snapshot.ts";

/** Collects the results of the parts of a comparison. */
export interface SnapshotFindings {
  readonly changes: SnapshotChange[];
  readonly unproven: { readonly path: string; readonly sentence: string }[];
  readonly notes: string[];
}

export function diffSnapshots(
  first: Snapshot,
  second: Snapshot,
  thresholds: SnapshotThresholds = defaultThresholds,
): SnapshotDiff {
  const [before, after] = alignIdentities(first, second);
  const findings: SnapshotFindings = { changes: [], unproven: [], notes: [] };
  compareFacts(before, after, findings);
  compareErrors(before, after, findings);
  compareLinks(before, after, findings);
  compareLoad(before, after, thresholds, findings);
  addNotes(before, after, findings);
  const facts = findings.changes.filter(({ kind }) => kind === "fact").length;
  const loads = findings.changes.length - facts;
  const verdict = facts > 0 ? "changed" : loads > 0 ? "loaded" : "same";
  return { verdict, sentence: sentenceOf(facts, loads, findings), ...findings };
}

function sentenceOf(facts: number, loads: number, { unproven }: SnapshotFindings): string {
  const open =
    unproven.length === 0
      ? ""
      : ` ${count(unproven.length, "fact")} could not be compared: see below.`;
  const load = `something else was on a GPU (${count(loads, "sign")})`;
  if (facts > 0)
    return `The system changed: ${count(facts, "fact")} ${facts === 1 ? "differs" : "differ"}${loads > 0 ? `, and ${load}` : ""}.${open}`;
  const same =
    unproven.length === 0 ? "The system is the same" : "What can be compared is the same";
  return loads > 0
    ? `${same}, but ${load}.${open}`
    : `${same}, and nothing else was on its GPUs.${open}`;
}

const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

/** Observations for the reader that are not changes. */
function addNotes(before: Snapshot, after: Snapshot, { notes }: SnapshotFindings): void {
  const order = ({ readings }: Snapshot): string[] =>
    readings.gpus.toSorted((a, b) => a.index - b.index).map(({ uuid }) => uuid);
  const [first, second] = [order(before), order(after)];
  const sameSet = first.length === second.length && first.every((uuid) => second.includes(uuid));
  if (sameSet && first.some((uuid, at) => uuid !== second[at]))
    notes.push("The GPUs are numbered in another order: they are the same by their uuids.");
  const boots = [before.readings.host.bootId, after.readings.host.bootId];
  if (boots[0] !== undefined && boots[1] !== undefined && boots[0] !== boots[1])
    notes.push("The machine was started again between the two.");
  if (Date.parse(after.takenAt) < Date.parse(before.takenAt))
    notes.push(
      "The second snapshot was taken before the first: are the files the wrong way round?",
    );
  if (before.gpulse !== after.gpulse)
    notes.push(`Taken by different versions of gpulse (${before.gpulse} and ${after.gpulse}).`);
  if (before.simulated || after.simulated)
    notes.push("GPUs are simulated: their numbers come from a model, not from hardware.");
}

/** Older versions omitted the machine from a generated uuid: `amd-0000:03:00.0` became `amd-0000:03:00.0-3f2a9c01d4e5`. */
function alignIdentities(
  before: Snapshot,
  after: Snapshot,
): readonly [before: Snapshot, after: Snapshot] {
  return [renameGpus(before, after), renameGpus(after, before)];
}

function renameGpus(snapshot: Snapshot, other: Snapshot): Snapshot {
  const uuids = ({ facts }: Snapshot): readonly string[] => facts.gpus.map(({ uuid }) => uuid);
  const taken = new Set(uuids(other));
  const renamed = uuids(snapshot).flatMap((uuid) => {
    const successors = uuids(other).filter((one) => isSuccessor(one, uuid));
    return taken.has(uuid) || successors.length !== 1
      ? []
      : [[uuid, successors[0] ?? uuid] as const];
  });
  if (renamed.length === 0) return snapshot;
  // Uuids are keys, values and parts of paths: replacing them in the text finds all of them.
  let text = JSON.stringify(snapshot);
  for (const [from, to] of renamed) text = text.replaceAll(from, to);
  return JSON.parse(text) as Snapshot;
}

const isSuccessor = (uuid: string, earlier: string): boolean =>
  /^(?:amd|intel)-/.test(earlier) &&
  uuid.startsWith(`${earlier}-`) &&
  /^[0-9a-f]{12}$/.test(uuid.slice(earlier.length + 1));
