/** Brings two snapshots to one set of uuids: earlier versions left the machine out of the uuid of a GPU that has none of its own. */
import type { Snapshot } from "../../machine/snapshot.ts";

/** `amd-0000:03:00.0` became `amd-0000:03:00.0-3f2a9c01d4e5`. */
export function alignIdentities(
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
  // Uuids are keys, values and parts of paths: in its text they are all found.
  let text = JSON.stringify(snapshot);
  for (const [from, to] of renamed) text = text.replaceAll(from, to);
  return JSON.parse(text) as Snapshot;
}

const isSuccessor = (uuid: string, earlier: string): boolean =>
  /^(?:amd|intel)-/.test(earlier) &&
  uuid.startsWith(`${earlier}-`) &&
  /^[0-9a-f]{12}$/.test(uuid.slice(earlier.length + 1));
