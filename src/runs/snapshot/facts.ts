/** Compares the facts of two snapshots, leaf by leaf. A fact that one of them could not read is not comparable, never changed. */
import { parseCommandLine } from "../../machine/command-line.ts";
import { AbsentFacts } from "./absence.ts";
import type { SnapshotFindings } from "./diff.ts";
import { factName, formatFact } from "./words.ts";
import type { Snapshot } from "../../machine/snapshot.ts";

type Leaf = string | number | boolean;

export function compareFacts(before: Snapshot, after: Snapshot, findings: SnapshotFindings): void {
  compareHost(before, after, findings);
  const [old, now] = [leavesOf(before), leavesOf(after)];
  const [oldAbsent, nowAbsent] = [new AbsentFacts(before), new AbsentFacts(after)];
  const gone = [
    ...compareGpuSets(before, after, findings),
    ...compareModuleSets(before, after, [oldAbsent, nowAbsent], findings),
  ];
  for (const path of new Set([...old.keys(), ...now.keys()])) {
    if (gone.some((prefix) => isUnder(path, prefix))) continue;
    const [was, is] = [old.get(path), now.get(path)];
    if (was === is) continue;
    if (isSameMemory(path, was, is)) {
      findings.notes.push(
        `${factName(path, before, after)} moved a little, as a virtual machine's does: ${formatFact(path, was)} → ${formatFact(path, is)}.`,
      );
      continue;
    }
    const reason =
      was === undefined
        ? oldAbsent.explain(path)
        : is === undefined
          ? nowAbsent.explain(path)
          : undefined;
    if (reason !== undefined) {
      const which = was === undefined ? "first" : "second";
      findings.unproven.push({
        path,
        sentence: `${factName(path, before, after)}, ${which} snapshot: ${reason}.`,
      });
      continue;
    }
    findings.changes.push({
      path,
      kind: "fact",
      before: was ?? null,
      after: is ?? null,
      sentence: changeSentence(path, was, is, before, after),
    });
  }
}

function changeSentence(
  path: string,
  was: Leaf | undefined,
  is: Leaf | undefined,
  ...snapshots: readonly Snapshot[]
): string {
  const name = factName(path, ...snapshots);
  if (path !== "kernel.commandLine" || typeof was !== "string" || typeof is !== "string")
    return `${name}: ${formatFact(path, was)} → ${formatFact(path, is)}.`;
  const [old, now] = [parseCommandLine(was), parseCommandLine(is)];
  const [gone, added] = [
    old.filter((one) => !now.includes(one)),
    now.filter((one) => !old.includes(one)),
  ];
  if (gone.length + added.length === 0) return `${name}: the same arguments in another order.`;
  return `${name}: ${[...gone.map((one) => `without ${one}`), ...added.map((one) => `with ${one}`)].join(", ")}.`;
}

/** A loaded or unloaded driver is one change, not one per parameter. Returns the paths that it covers. */
function compareModuleSets(
  before: Snapshot,
  after: Snapshot,
  [oldAbsent, nowAbsent]: readonly [AbsentFacts, AbsentFacts],
  { changes }: SnapshotFindings,
): string[] {
  const [old, now] = [before.facts.kernel?.modules, after.facts.kernel?.modules];
  if (old === undefined || now === undefined) return [];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((module) => {
    const path = `kernel.modules.${module}`;
    const [was, is] = [Object.hasOwn(old, module), Object.hasOwn(now, module)];
    if (was === is || (was ? nowAbsent : oldAbsent).isNoted(path)) return [];
    changes.push({
      path,
      kind: "fact",
      before: was,
      after: is,
      sentence: `Kernel module ${module}: ${was ? "loaded → not loaded" : "not loaded → loaded"}.`,
    });
    return [path];
  });
}

/**
 * Tolerance for memory that a hypervisor lends and reclaims. For a node it may be a third within a minute, as observed on a
 * rented H200: only the total, and the nodes' positions and cores, are compared.
 */
const lentShare = 0.01;

function isSameMemory(path: string, was: Leaf | undefined, is: Leaf | undefined): boolean {
  if (path === "memory.totalBytes") return isNear(was, is);
  if (path !== "memory.numaNodes" || typeof was !== "string" || typeof is !== "string")
    return false;
  const [old, now] = [was, is].map(
    (text) => JSON.parse(text) as { node: number; memoryBytes: number; cpus: string }[],
  );
  if (old === undefined || now === undefined || old.length !== now.length) return false;
  return old.every(({ node, cpus }, at) => {
    const other = now[at];
    return other?.node === node && other.cpus === cpus;
  });
}

const isNear = (was: unknown, is: unknown): boolean =>
  typeof was === "number" && typeof is === "number" && Math.abs(was - is) <= lentShare * was;

function compareHost(before: Snapshot, after: Snapshot, { changes }: SnapshotFindings): void {
  if (before.host === after.host) return;
  changes.push({
    path: "host",
    kind: "fact",
    before: before.host,
    after: after.host,
    sentence: `These are two machines: ${before.host} and ${after.host}.`,
  });
}

/** An added or removed GPU is one change, not one per fact. Returns the paths that it covers. */
function compareGpuSets(
  before: Snapshot,
  after: Snapshot,
  { changes }: SnapshotFindings,
): string[] {
  const dealt: string[] = [];
  const compare = (one: Snapshot, other: Snapshot, isGone: boolean): void => {
    const there = new Set(other.facts.gpus.map(({ uuid }) => uuid));
    for (const { uuid, model } of one.facts.gpus) {
      if (there.has(uuid)) continue;
      const index = one.readings.gpus.find((gpu) => gpu.uuid === uuid)?.index;
      const name = `GPU ${index ?? "?"} ${model} (${uuid})`;
      dealt.push(`gpus.${uuid}`, `p2p.${uuid}`);
      for (const peer of Object.keys(one.facts.p2p)) dealt.push(`p2p.${peer}.${uuid}`);
      changes.push({
        path: `gpus.${uuid}`,
        kind: "fact",
        before: isGone ? model : null,
        after: isGone ? null : model,
        sentence: isGone ? `${name} is missing.` : `${name} is new.`,
      });
    }
  };
  compare(before, after, true);
  compare(after, before, false);
  for (const { uuid, index, up } of after.readings.gpus) {
    const was = before.readings.gpus.find((gpu) => gpu.uuid === uuid);
    if (up !== false || was?.up !== true) continue;
    changes.push({
      path: `gpus.${uuid}.up`,
      kind: "fact",
      before: true,
      after: false,
      sentence: `GPU ${index} (${uuid}) does not respond.`,
    });
  }
  return dealt;
}

const isUnder = (path: string, prefix: string): boolean =>
  path === prefix || path.startsWith(`${prefix}.`);

/** Lists of named items are keyed by name, so that their order does not matter. */
function leavesOf({ facts }: Snapshot): Map<string, Leaf> {
  const { gpus, storage, network, ...rest } = facts;
  const leaves = new Map<string, Leaf>();
  for (const gpu of gpus) addLeaves(`gpus.${gpu.uuid}`, gpu, leaves);
  for (const device of storage) addLeaves(`storage.${device.name}`, device, leaves);
  for (const card of network) addLeaves(`network.${card.name}`, card, leaves);
  for (const [group, value] of Object.entries(rest)) addLeaves(group, value, leaves);
  // Follows from generation and width: one change, not two.
  for (const { uuid } of gpus) leaves.delete(`gpus.${uuid}.pcie.bandwidthMaxBytesPerSecond`);
  return leaves;
}

function addLeaves(path: string, value: unknown, leaves: Map<string, Leaf>): void {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    leaves.set(path, value);
  else if (Array.isArray(value)) leaves.set(path, JSON.stringify(value));
  else if (typeof value === "object" && value !== null)
    for (const [name, one] of Object.entries(value)) addLeaves(`${path}.${name}`, one, leaves);
}
