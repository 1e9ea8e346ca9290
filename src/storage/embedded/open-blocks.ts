/** Opens the blocks and rollups listed in a manifest. A lost one is reported, or rebuilt if it is a rollup with raw samples. */
import { renameSync } from "node:fs";
import path from "node:path";
import { formatError, systemCode } from "../../base/error.ts";
import { Block } from "./blocks/block.ts";
import { BlockDamagedError } from "./blocks/format.ts";
import type { StoreManifest, RollupRanges } from "./files/manifest.ts";
import type { Head } from "./head/head.ts";
import type { LabelIndex } from "./index/index.ts";
import type { UnreadablePart } from "./quarantine.ts";
import { bucketEnd, bucketStart, rollAlignMs, seriesRef } from "./rollups/columns.ts";
import { loadRollups } from "./rollups/manifest.ts";
import { withOutdated } from "./rollups/outdated.ts";
import { isLostRebuildable, lostRange } from "./rollups/rebuild.ts";
import { hasRollups } from "./rollups/retention.ts";
import { replaceTier, rollupBlocks, rollupFile, type RollupState } from "./rollups/state.ts";
import { blockCheck, blockFile, changeState, type StoreState } from "./state.ts";

export interface OpenBlockOptions extends Pick<
  StoreState,
  | "options"
  | "context"
  | "quarantine"
  | "storedChecks"
  | "storedRanges"
  | "goneBeforeMs"
  | "rules"
  | "lost"
> {
  readonly dir: string;
}

export function openBlock(id: number, toOpen: OpenBlockOptions, resolutionMs?: number): Block[] {
  const { dir, context, quarantine, storedChecks, lost } = toOpen;
  const file = resolutionMs === undefined ? blockFile(dir, id) : rollupFile(dir, id, resolutionMs);
  const [kind, content] = resolutionMs === undefined ? ["block", "samples"] : ["rollup", "entries"];
  const part = { block: undefined, id, file, page: undefined, what: "all", resolutionMs };
  try {
    const block = new Block(file, context);
    const expected = storedChecks[String(id)];
    if (expected !== undefined && expected !== blockCheck(block)) {
      block.release();
      throw new BlockDamagedError("it is not the block that the manifest names");
    }
    quarantine.remove({ ...part, why: "" });
    return [block];
  } catch (thrown) {
    const why = formatError(thrown);
    const isMissing = systemCode(thrown) === "ENOENT";
    if (!isMissing && !(thrown instanceof BlockDamagedError)) {
      quarantine.add({ ...part, why });
      return [];
    }
    quarantine.remove({ ...part, why });
    const setAside = `it is set aside as ${path.basename(file)}.damaged`;
    if (!isMissing) renameSync(file, `${file}.damaged`);
    if (resolutionMs !== undefined && isMadeAgain(id, toOpen))
      toOpen.options.log.warn(
        isMissing
          ? "a rollup is missing and is made again from raw samples"
          : `a rollup is damaged and is made again from raw samples; ${setAside}`,
        { file, ...(!isMissing && { why }) },
      );
    else
      lost.push(
        isMissing
          ? `the ${kind} ${file} is missing: its ${content} are lost`
          : `the ${kind} ${file} is lost: ${why}; ${setAside}`,
      );
    return [];
  }
}

const isMadeAgain = (id: number, toOpen: OpenBlockOptions): boolean => {
  const { options, storedRanges, goneBeforeMs, rules } = toOpen;
  return hasRollups(options) && isLostRebuildable(storedRanges[String(id)], goneBeforeMs, rules);
};

/** Opens the rollups in a manifest. A lost one is rebuilt from raw samples if they exist. */
export function openRollups(
  { rollups: stored }: StoreManifest,
  unlinkAtMs: number,
  toOpen: OpenBlockOptions,
  raw: readonly Block[],
): RollupState {
  const lostIds: number[] = [];
  const opened = loadRollups(stored, ({ resolutionMs, blocks, removed }) => {
    const open = (id: number): Block[] => openBlock(id, toOpen, resolutionMs);
    const found = blocks.flatMap(open);
    const known = new Set([
      ...found.map(({ id }) => id),
      ...toOpen.quarantine.unopenedOf(resolutionMs),
    ]);
    lostIds.push(...blocks.filter((id) => !known.has(id)));
    return {
      blocks: found,
      removed: removed.flatMap(open).map((block) => ({ block, unlinkAtMs })),
    };
  });
  if (opened.rolledToMs === undefined && rollupBlocks(opened).length > 0) {
    // Without a manifest, existing rollups are used up to the first raw samples, and rebuilt from there on.
    const ends = raw.map(({ footer }) => bucketStart(footer.minTimeMs, rollAlignMs));
    const newest = rollupBlocks(opened).map(({ footer }) => footer.maxTimeMs);
    const rolledToMs = Math.min(...ends, bucketEnd(Math.max(...newest), rollAlignMs));
    return { ...opened, rolledToMs };
  }
  return withoutLost(opened, lostIds, toOpen.storedRanges);
}

/** Marks the ranges of lost rollups as outdated: raw samples are read there until they are rolled up again. */
function withoutLost(
  rollups: RollupState,
  ids: readonly number[],
  ranges: RollupRanges,
): RollupState {
  const { rolledToMs, outdated } = rollups;
  if (rolledToMs === undefined) return rollups;
  const lost = ids.map((id) => lostRange(ranges[String(id)], rolledToMs));
  return { ...rollups, outdated: [...outdated, ...lost] };
}

/** Tries again to open a block that could not be opened at startup; its samples count from then on. */
export function reopenBlock(state: StoreState, { id, resolutionMs }: UnreadablePart): boolean {
  const { options, head, index, lost, rollups } = state;
  const before = lost.length;
  const opened = openBlock(id, { ...state, dir: options.dir }, resolutionMs);
  if (resolutionMs === undefined) {
    for (const block of opened) state.lostSamples += seenIn(block, head, index, lost);
    if (opened.length > 0)
      changeState(state, {
        blocks: [...state.blocks, ...opened],
        rollups: withOutdated(rollups, opened),
      });
  } else if (opened.length > 0) {
    const tier = rollups.tiers.find((one) => one.resolutionMs === resolutionMs);
    const blocks = [...(tier?.blocks ?? []), ...opened];
    changeState(state, { rollups: replaceTier(rollups, resolutionMs, { blocks }) });
  } else if (!state.quarantine.unopenedOf(resolutionMs).includes(id))
    changeState(state, { rollups: withoutLost(rollups, [id], state.storedRanges) });
  for (const sentence of lost.slice(before)) options.log.error(sentence);
  return opened.length > 0;
}

/** Reserves the series numbers of a rollup, so that they are not reused. */
export function seenInRollup(block: Block, index: LabelIndex, lost: string[]): void {
  const unlabelled = new Set<number>();
  for (const column of block.directory.refs) {
    const ref = seriesRef(column);
    index.table.reserve(ref + 1);
    if (!index.table.isAlive(ref)) unlabelled.add(ref);
  }
  if (unlabelled.size > 0)
    lost.push(`${unlabelled.size} series of the rollup ${block.file} have lost their labels`);
}

/** Returns the number of samples that have lost their labels. */
export function seenIn(block: Block, head: Head, index: LabelIndex, lost: string[]): number {
  let [columns, samples] = [0, 0];
  const { directory, timebases } = block.parts;
  for (let entry = 0; entry < directory.refs.length; entry++) {
    const ref = directory.refs[entry] as number;
    index.table.reserve(ref + 1);
    if (!index.table.isAlive(ref)) {
      columns++;
      samples += timebases.count[directory.timebase[entry] as number] as number;
    }
    head.sawTime(ref, block.lastTimeMs(entry));
  }
  if (columns > 0)
    lost.push(`${columns} columns of ${block.file}, ${samples} samples, have lost their labels`);
  return samples;
}
