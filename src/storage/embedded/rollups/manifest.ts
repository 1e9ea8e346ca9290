/** The rollups in the store's manifest. */
import type { Block } from "../blocks/block.ts";
import {
  fromRuns,
  loadTombstone,
  storeBound,
  type StoredRollups,
  storeTombstone,
  toRuns,
} from "../files/manifest.ts";
import type { Quarantine } from "../quarantine.ts";
import { emptyRollups, type RollupState, type RollupTier } from "./state.ts";

export const storeRollups = (
  { rolledToMs, outdated, tiers }: RollupState,
  quarantine: Pick<Quarantine, "unopenedOf">,
): StoredRollups => ({
  rolledToMs: rolledToMs ?? null,
  outdated: outdated.map(({ fromMs, toMs, refs }) => ({
    fromMs: storeBound(fromMs),
    toMs: storeBound(toMs),
    runs: refs === undefined ? null : toRuns(refs),
  })),
  tiers: tiers.map((tier) => ({
    resolutionMs: tier.resolutionMs,
    blocks: [...tier.blocks.map(({ id }) => id), ...quarantine.unopenedOf(tier.resolutionMs)],
    removed: tier.removed.map(({ block }) => block.id),
    tombstones: tier.tombstones.map(storeTombstone),
    goneBeforeMs: storeBound(tier.goneBeforeMs),
    unlinkedBeforeMs: storeBound(tier.unlinkedBeforeMs),
  })),
});

export interface OpenedTier {
  readonly blocks: readonly Block[];
  readonly removed: RollupTier["removed"];
}

/** @param open opens the files of one resolution */
export function loadRollups(
  stored: StoredRollups | undefined,
  open: (tier: StoredRollups["tiers"][number]) => OpenedTier,
): RollupState {
  if (stored === undefined) return emptyRollups;
  return {
    rolledToMs: stored.rolledToMs ?? undefined,
    outdated: stored.outdated.map(({ fromMs, toMs, runs }) => ({
      fromMs: fromMs ?? -Infinity,
      toMs: toMs ?? Infinity,
      refs: runs === null ? undefined : fromRuns(runs),
    })),
    tiers: emptyRollups.tiers.map((empty) => {
      const tier = stored.tiers.find(({ resolutionMs }) => resolutionMs === empty.resolutionMs);
      if (tier === undefined) return empty;
      return {
        ...open(tier),
        resolutionMs: tier.resolutionMs,
        tombstones: tier.tombstones.map(loadTombstone),
        goneBeforeMs: tier.goneBeforeMs ?? -Infinity,
        unlinkedBeforeMs: tier.unlinkedBeforeMs ?? -Infinity,
      };
    }),
  };
}
