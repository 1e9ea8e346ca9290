/**
 * Assigns a topic's partitions to the members of a consumer group; runs on the group's leader. Cooperative (KIP-429): a partition
 * that has to move stays unassigned until its reader has stored what it read and no longer claims it.
 *
 * User data of a member's subscription, JSON: {"generation":7,"owned":{"gpu-metrics":[0,3]}}
 */
import type {
  ExtendedGroupProtocolSubscription,
  GroupPartitionsAssigner,
  GroupPartitionsAssignments,
} from "@platformatic/kafka";
import * as v from "valibot";

/** The partitions that a member owns when it joins, and since which generation of the group. */
export interface PartitionClaims {
  readonly generation: number;
  /** Partitions by topic. */
  readonly owned: Readonly<Record<string, readonly number[]>>;
}

const claimsSchema = v.object({
  generation: v.pipe(v.number(), v.integer()),
  owned: v.record(v.string(), v.array(v.pipe(v.number(), v.integer(), v.minValue(0)))),
});
const noClaims: PartitionClaims = { generation: -1, owned: {} };
const mostClaimChars = 1_024 * 1_024;

export const encodeClaims = (claims: PartitionClaims): string => JSON.stringify(claims);

/** A member of an older version has no user data: it gives up all its partitions before it joins. */
export function decodeClaims(userData: Buffer | string | null = null): PartitionClaims {
  const text = userData?.toString() ?? "";
  if (text === "" || text.length > mostClaimChars) return noClaims;
  try {
    const parsed = v.safeParse(claimsSchema, JSON.parse(text));
    return parsed.success ? parsed.output : noClaims;
  } catch {
    return noClaims;
  }
}

export interface GroupMember extends PartitionClaims {
  readonly id: string;
}

/** The new share of each member, by member id. */
export function assignPartitions(
  topic: string,
  partitionCount: number,
  members: readonly GroupMember[],
): ReadonlyMap<string, readonly number[]> {
  const owners = ownersOf(topic, members);
  const byId = members.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  const current = byId.map(({ id }) => ({
    id,
    owned: [...owners].flatMap(([partition, owner]) => (owner === id ? [partition] : [])),
  }));
  // The members with the most partitions keep the larger shares, so that the fewest partitions move.
  const ordered = current.toSorted((left, right) => right.owned.length - left.owned.length);
  const smallest = Math.floor(partitionCount / Math.max(1, members.length));
  const larger = partitionCount % Math.max(1, members.length);
  const free: number[] = [];
  for (let partition = 0; partition < partitionCount; partition++)
    if (!owners.has(partition)) free.push(partition);
  const shares = new Map<string, readonly number[]>();
  for (const [rank, { id, owned }] of ordered.entries()) {
    const size = smallest + (rank < larger ? 1 : 0);
    const kept = owned
      .filter((partition) => partition < partitionCount)
      .toSorted((left, right) => left - right)
      .slice(0, size);
    const share = [...kept, ...free.splice(0, size - kept.length)];
    shares.set(
      id,
      share.toSorted((left, right) => left - right),
    );
  }
  return shares;
}

/** If two members claim a partition, the claim of the later generation wins: the group removed the other member meanwhile. */
function ownersOf(topic: string, members: readonly GroupMember[]): Map<number, string> {
  const owners = new Map<number, string>();
  const since = new Map<number, number>();
  for (const { id, generation, owned } of members)
    for (const partition of owned[topic] ?? []) {
      if (generation <= (since.get(partition) ?? -1)) continue;
      owners.set(partition, id);
      since.set(partition, generation);
    }
  return owners;
}

/** The assigner for the client, which calls it on the group's leader. */
export const cooperativeAssigner: GroupPartitionsAssigner = (_current, members, _topics, cluster) =>
  shareOut(members, new Map([...cluster.topics].map(([name, of]) => [name, of.partitionsCount])));

function shareOut(
  members: ReadonlyMap<string, ExtendedGroupProtocolSubscription>,
  topics: ReadonlyMap<string, number>,
): GroupPartitionsAssignments[] {
  const all = [...members.values()].map(({ memberId, topics: names = [], metadata }) => ({
    id: memberId,
    names,
    ...decodeClaims(metadata),
  }));
  const assigned = new Map(
    all.map(({ id }) => [id, { memberId: id, assignments: new Map() }] as const),
  );
  for (const [topic, partitionCount] of topics) {
    const readers = all.filter(({ names }) => names.includes(topic));
    for (const [id, partitions] of assignPartitions(topic, partitionCount, readers))
      assigned.get(id)?.assignments.set(topic, { topic, partitions: [...partitions] });
  }
  return [...assigned.values()];
}
