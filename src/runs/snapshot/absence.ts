/**
 * Why a fact is missing from a snapshot, and whether its absence can be compared. `unsupported` is a finding: the machine does
 * not have it. Every other reason is no information about the machine, so the fact is not comparable. Pure.
 */
import type { MissingReason } from "../../machine/machine.ts";
import type { Snapshot } from "../../machine/snapshot.ts";

/** `not-recorded`: written by a gpulse that did not have the fact, or without its group. */
export type FactAbsence = MissingReason | "not-recorded";

const sentences: Readonly<Record<Exclude<FactAbsence, "unsupported" | "ended">, string>> = {
  denied: "not readable: permission denied",
  asleep: "not comparable: the GPU was asleep",
  failed: "not readable: the read failed",
  "exporter reports 0": "not comparable: the exporter reports 0",
  pending: "not read: no reading had arrived",
  "not-read": "not read: no reading had arrived",
  "not-recorded": "not recorded in that file",
};

/**
 * Groups that are read as a whole: a missing or empty one was not read. Elsewhere a missing fact is one that the machine does not
 * have, such as a container limit or a clock that is not set.
 */
function unrecordedGroups({ facts }: Snapshot): string[] {
  const { kernel } = facts;
  const groups: (readonly [path: string, group: object | undefined])[] = [
    ["kernel", kernel],
    ["kernel.sysctl", kernel?.sysctl],
    ["p2pLinks", facts.p2pLinks],
    ...facts.gpus.flatMap(({ uuid, firmware, clocks }) => [
      [`gpus.${uuid}.firmware`, firmware] as const,
      [`gpus.${uuid}.clocks.maxHertz`, clocks.maxHertz] as const,
      [`p2p.${uuid}`, facts.p2p[uuid]] as const,
      [`p2pLinks.${uuid}`, facts.p2pLinks?.[uuid]] as const,
    ]),
  ];
  return groups.flatMap(([path, group]) =>
    group === undefined || Object.keys(group).length === 0 ? [`${path}.`] : [],
  );
}

export class AbsentFacts {
  readonly #gpus: Snapshot["readings"]["gpus"];
  readonly #reasons: ReadonlyMap<string, string>;
  readonly #unrecorded: readonly string[];

  constructor(snapshot: Snapshot) {
    this.#gpus = snapshot.readings.gpus;
    this.#reasons = new Map(snapshot.missing.map(({ fact, reason }) => [fact, reason]));
    this.#unrecorded = unrecordedGroups(snapshot);
  }

  /** Why the fact cannot be compared; undefined if its absence is a finding. */
  explain(path: string): string | undefined {
    return (sentences as Readonly<Record<string, string | undefined>>)[this.#reasonOf(path)];
  }

  /** True if reading exactly this fact was attempted and failed. */
  isNoted(path: string): boolean {
    return this.#reasons.has(path);
  }

  #reasonOf(path: string): string {
    // Facts of a GPU, and of the connection between it and another.
    const about = this.#gpus.filter(({ uuid }) => `${path}.`.includes(`.${uuid}.`));
    if (about.some(({ asleep }) => asleep === true)) return "asleep";
    if (about.some(({ up }) => up === false)) return "failed";
    for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
      const noted = this.#reasons.get(path.slice(0, end));
      if (noted !== undefined) return noted;
    }
    const isUnrecorded = this.#unrecorded.some((group) => path.startsWith(group));
    return isUnrecorded ? "not-recorded" : "unsupported";
  }
}
