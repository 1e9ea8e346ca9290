/**
 * Opens a data folder: what the manifest names, then the log after it. Damage is reported and left out, never a reason not to
 * start; a file that cannot be read is set aside, not deleted.
 */
import { readdirSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import { makeFolderSync } from "../../base/make-folder.ts";
import { formatError, systemCode } from "../../base/error.ts";
import type { LabelSet } from "../../model/labels.ts";
import { appendAll, newTally } from "./append.ts";
import type { WalSampleColumns } from "./wal/records.ts";
import { Block, type BlockContext } from "./blocks/block.ts";
import { BlockDamagedError } from "./blocks/format.ts";
import { PageCache } from "./blocks/page-cache.ts";
import { DiskFailures, isDiskFull } from "./failures.ts";
import {
  emptyManifest,
  formatVersion,
  loadTombstone,
  type Manifest,
  newStoreId,
  readManifest,
  type RollupRanges,
  writeManifest,
} from "./files/manifest.ts";
import { openSeriesLog, seriesLogStore } from "./files/read-series-log.ts";
import { Head } from "./head/head.ts";
import { LabelIndex } from "./index/index.ts";
import { lookUp } from "./lookup.ts";
import {
  describeUnreadable,
  Quarantine,
  unreadablePage,
  type UnreadablePart,
} from "./quarantine.ts";
import {
  bucketEnd,
  bucketStart,
  formatResolution,
  resolutionsMs,
  rollAlignMs,
  seriesRef,
} from "./rollups/columns.ts";
import { loadRollups } from "./rollups/manifest.ts";
import { withOutdated } from "./rollups/outdated.ts";
import { isLostRebuildable, isRebuildable, lostRange } from "./rollups/rebuild.ts";
import { hasRollups } from "./rollups/retention.ts";
import {
  replaceTier,
  rollupBlocks,
  rollupFile,
  rollupsFolder,
  type RollupState,
} from "./rollups/state.ts";
import {
  defaultLimits,
  defaultRemovalGraceMs,
  defaultSegmentBytes,
  type StartReport,
  type StoreOptions,
} from "./options.ts";
import { SeriesBudget } from "./series-budget.ts";
import { removeLeftover } from "../../base/state/atomic.ts";
import { TrustedClock } from "../../base/state/trusted-clock.ts";
import {
  assignTombstones,
  blockCheck,
  blockFile,
  blocksFolder,
  changeState,
  newestSampleMs,
  seriesFile,
  type StoreState,
  walFolder,
  writeStateIfChanged,
} from "./state.ts";
import { listSegments, segmentFile, WriteAheadLog } from "./wal/log.ts";
import { readMark } from "./wal/mark.ts";
import { replayLog, segmentStore } from "./wal/replay.ts";
import { loadRules } from "./rules.ts";
import { releaseUnused, renewSeriesLog } from "./series-collection.ts";

export interface StartResult {
  readonly state: StoreState;
  readonly report: StartReport;
}

export function start(options: StoreOptions, requireLock: () => void): StartResult {
  const beganMs = performance.now();
  const { dir } = options;
  const lost: string[] = [];
  makeFolderSync(blocksFolder(dir), { mode: 0o700 });
  makeFolderSync(walFolder(dir), { mode: 0o700 });
  makeFolderSync(rollupsFolder(dir), { mode: 0o700 });
  const lastWriteMs = lastWriteOf(walFolder(dir));
  const manifest = findManifest(dir, lost);
  sweep(dir, manifest, lost);
  const monotonicMs = options.monotonicMs ?? (() => performance.now());
  const quarantine = new Quarantine(monotonicMs);
  const context: BlockContext = {
    cache: new PageCache(options.memoryBytes),
    onUnreadable: (block, page, _columns, why) => {
      const part = unreadablePage(block, page, why);
      if (!quarantine.add(part)) return;
      // The next round makes it again from raw samples, which answer until then.
      if (rollupBlocks(state.rollups).includes(block) && isRebuildable(state, block)) return;
      options.log.error(describeUnreadable(part));
    },
  };
  const { storeId, blockChecks: storedChecks = {}, rollupRanges: storedRanges = {} } = manifest;
  const goneBeforeMs = manifest.goneBeforeMs ?? -Infinity;
  const rules = loadRules(manifest.rules);
  const toOpen: OpenBlockOptions = {
    dir,
    options,
    context,
    quarantine,
    storedChecks,
    storedRanges,
    goneBeforeMs,
    rules,
    lost,
  };
  const open = (id: number): Block[] => openBlock(id, toOpen);
  const blocks = manifest.blocks.flatMap(open);
  const index = new LabelIndex();
  const number = manifest.seriesLog;
  const series = openSeriesLog(
    { file: seriesFile(dir, number), storeId, number, requireLock },
    index,
    manifest.seriesRecords ?? 0,
  );
  lost.push(...series.lost);
  const head = new Head(manifest.walFrom);
  const removed = (manifest.removed ?? []).flatMap(open);
  const unlinkAtMs = monotonicMs() + (options.removalGraceMs ?? defaultRemovalGraceMs);
  const rollups = openRollups(manifest, unlinkAtMs, toOpen, blocks);
  for (const block of rollupBlocks(rollups)) seenInRollup(block, index, lost);
  let lostSamples = 0;
  for (const block of [...blocks, ...removed]) lostSamples += seenIn(block, head, index, lost);
  const unpersisted: number[] = [];
  const replay = replayInto({ dir, manifest, index, head, blocks, unpersisted, lost });
  const newestMs = newestSampleMs(blocks, head);
  const clock = new TrustedClock({
    nowMs: options.nowMs,
    monotonicMs,
    startMs: manifest.trustedMs ?? (newestMs === -Infinity ? undefined : newestMs),
  });
  const state: StoreState = {
    options,
    requireLock,
    context,
    monotonicMs,
    retentionNowMs: options.retentionNowMs ?? (() => clock.nowMs()),
    clock,
    index,
    head,
    budget: new SeriesBudget({ ...defaultLimits, ...options.limits }),
    storeId,
    generation: manifest.generation,
    wal: new WriteAheadLog({
      dir: walFolder(dir),
      storeId,
      segmentBytes: options.segmentBytes ?? defaultSegmentBytes,
      firstSegment: replay.nextSegment,
      first: replay.next,
      generation: manifest.generation,
      from: { ...(manifest.walStart ?? replay.first), segment: manifest.walFrom },
      durability: options.durability,
      unreadable: replay.unreadable,
      requireLock,
    }),
    seriesLog: series.log,
    seriesLogNumber: manifest.seriesLog,
    unpersisted,
    blocks,
    removed: removed.map((block) => ({ block, unlinkAtMs })),
    goneBeforeMs:
      manifest.goneBeforeMs ??
      // Without a manifest: raw samples are gone where rollups alone reach back to.
      (manifest.rollups?.rolledToMs === null ? rollups.rolledToMs : undefined) ??
      -Infinity,
    unlinkedBeforeMs: manifest.unlinkedBeforeMs ?? -Infinity,
    rollups,
    rules,
    storedTrustedMs: manifest.trustedMs ?? -Infinity,
    tombstones: manifest.tombstones.map(loadTombstone),
    nextBlock: Math.max(
      manifest.nextBlock,
      ...[...blocks, ...removed, ...rollupBlocks(rollups)].map((block) => block.id + 1),
    ),
    walFrom: manifest.walFrom,
    failures: new DiskFailures(options.log),
    quarantine,
    lost,
    lostSamples: lostSamples + replay.lostSamples,
    unlabelled: replay.unlabelled,
    storedChecks,
    storedRanges,
    pendingRewrite: series.isToBeRewritten ? { isDamaged: series.isDamaged } : undefined,
  };
  assignTombstones(state);
  releaseUnused(state);
  try {
    if (state.pendingRewrite === undefined) writeStateIfChanged(state);
    else renewSeriesLog(state);
  } catch (thrown) {
    // Existing data is served; maintenance writes the manifest when there is room again, and sealing the series log.
    if (!isDiskFull(thrown)) throw thrown;
    state.seriesLog.isHeld = manifest.version < formatVersion;
    state.failures.add("start", "the manifest of the store cannot be written", thrown);
  }
  const report: StartReport = {
    tookMs: performance.now() - beganMs,
    series: index.table.count,
    blocks: blocks.length,
    logRecords: replay.records,
    logSamples: replay.samples,
    tornTail: replay.tornTail,
    lostSamples: state.lostSamples,
    lostSeries: series.lostSeries,
    lostBytes: replay.lostBytes,
    lost: [...lost, ...quarantine.parts.map(describeUnreadable)],
    lastWriteMs,
  };
  return { state, report };
}

function lastWriteOf(folder: string): number | undefined {
  const times = listSegments(folder).map(
    (segment) => statSync(segmentFile(folder, segment)).mtimeMs,
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

interface IdentifiedManifest extends Manifest {
  readonly storeId: string;
  readonly generation: number;
  /** Nothing proves that it is the last one: files it does not name may still be needed. */
  readonly isUnproven: boolean;
}

/** The manifest, or, where it is missing, damaged or an older copy, one rebuilt from the files in the folder. */
function findManifest(dir: string, lost: string[]): IdentifiedManifest {
  const read = readManifest(dir);
  const stored = typeof read === "object" ? read : undefined;
  const storeId = stored?.storeId ?? (stored && findStoreId(dir, stored.seriesLog));
  const mark = storeId === undefined ? undefined : readMark(walFolder(dir), storeId);
  const generation = Math.max(stored?.generation ?? 0, mark?.generation ?? 0);
  if (stored !== undefined && storeId !== undefined && generation === (stored.generation ?? 0))
    return { ...stored, storeId, generation, isUnproven: mark === undefined };
  const numbers = (folder: string, pattern: RegExp): number[] =>
    readdirSync(folder)
      .flatMap((file) => pattern.exec(file)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  const blocks = numbers(blocksFolder(dir), /^(\d{10})\.block$/);
  const segments = listSegments(walFolder(dir));
  const series = numbers(dir, /^series-(\d+)\.log$/);
  const tiers = resolutionsMs.map((resolutionMs) => ({
    resolutionMs,
    blocks: numbers(
      rollupsFolder(dir),
      new RegExp(`^(\\d{10})-${formatResolution(resolutionMs)}\\.block$`),
    ),
    removed: [],
    tombstones: [],
    goneBeforeMs: null,
    unlinkedBeforeMs: null,
  }));
  if (read === undefined && blocks.length + segments.length + series.length === 0) {
    // Before anything else: a crash in the middle of a first start then leaves no files without it.
    const first = {
      ...emptyManifest,
      storeId: newStoreId(),
      blockChecks: {},
      walStart: { sequence: 0, samples: 0 },
      seriesRecords: 0,
    };
    writeManifest(dir, first);
    return { ...first, generation, isUnproven: false };
  }
  const state = stored !== undefined ? "an older copy" : read === undefined ? "missing" : "damaged";
  lost.push(
    `${path.join(dir, "manifest.json")} is ${state}: all blocks found are used, and deletions that ${stored === undefined ? "were not carried out yet" : "it does not know of and were not carried out yet"} are lost`,
  );
  return {
    ...emptyManifest,
    // Deletions in an older copy were requested and still apply.
    tombstones: stored?.tombstones ?? [],
    storeId: storeId ?? findStoreId(dir, series.at(-1) ?? 1),
    generation,
    isUnproven: false,
    blocks,
    // What has raw samples is rolled up again, in place of what is found.
    rollups: { rolledToMs: null, outdated: [], tiers },
    nextBlock: Math.max(0, ...blocks, ...tiers.flatMap((tier) => tier.blocks)) + 1,
    walFrom: segments[0] ?? 1,
    seriesLog: series.at(-1) ?? 1,
  };
}

/** For a folder whose manifest has none: the id in its other files, or a new one for files of version 1. */
function findStoreId(dir: string, seriesLog: number): string {
  const wal = walFolder(dir);
  let storeId = seriesLogStore(seriesFile(dir, seriesLog));
  for (const segment of listSegments(wal).reverse()) storeId ??= segmentStore(wal, segment);
  return storeId ?? newStoreId();
}

/**
 * Removes what a crash left behind: files that were being written, and blocks that the manifest does not name. Where the
 * manifest may be an older copy, such a block may be the only one that holds its samples: it is set aside.
 */
function sweep(dir: string, manifest: IdentifiedManifest, lost: string[]): void {
  const { blocks, removed = [], rollups, isUnproven } = manifest;
  const wanted = new Set([...blocks, ...removed].map((id) => blockFile(dir, id)));
  for (const tier of rollups?.tiers ?? [])
    for (const id of [...tier.blocks, ...tier.removed])
      wanted.add(rollupFile(dir, id, tier.resolutionMs));
  for (const file of [blocksFolder(dir), rollupsFolder(dir)].flatMap((folder) =>
    readdirSync(folder).map((name) => path.join(folder, name)),
  )) {
    const name = path.basename(file);
    if (name.endsWith(".tmp")) removeLeftover(file);
    if (!name.endsWith(".block") || wanted.has(file)) continue;
    if (!isUnproven) {
      removeLeftover(file);
      continue;
    }
    renameSync(file, `${file}.unnamed`);
    lost.push(
      `${file} is not named by the manifest, which may be an older copy: it is not read, and set aside as ${name}.unnamed`,
    );
  }
  for (const segment of readdirSync(walFolder(dir)))
    if (segment.endsWith(".wal") && Number.parseInt(segment, 10) < manifest.walFrom)
      removeLeftover(path.join(walFolder(dir), segment));
}

interface OpenBlockOptions extends Pick<
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

function openBlock(id: number, toOpen: OpenBlockOptions, resolutionMs?: number): Block[] {
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

/** Opens the rollups of a manifest. One that is lost is made again from raw samples where they are there. */
function openRollups(
  { rollups: stored }: Manifest,
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
    // The manifest was lost: rollups count up to where raw samples begin, and from there on they are made again.
    const ends = raw.map(({ footer }) => bucketStart(footer.minTimeMs, rollAlignMs));
    const newest = rollupBlocks(opened).map(({ footer }) => footer.maxTimeMs);
    const rolledToMs = Math.min(...ends, bucketEnd(Math.max(...newest), rollAlignMs));
    return { ...opened, rolledToMs };
  }
  return withoutLost(opened, lostIds, toOpen.storedRanges);
}

/** Raw samples answer for what lost rollups spanned until it is rolled up again. */
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

/** Tries again to open a block that could not be opened at the start; its samples count from then on. */
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

/** The numbers of its series are not given to others. */
function seenInRollup(block: Block, index: LabelIndex, lost: string[]): void {
  const unlabelled = new Set<number>();
  for (const column of block.directory.refs) {
    const ref = seriesRef(column);
    index.table.reserve(ref + 1);
    if (!index.table.isAlive(ref)) unlabelled.add(ref);
  }
  if (unlabelled.size > 0)
    lost.push(`${unlabelled.size} series of the rollup ${block.file} have lost their labels`);
}

/** Returns how many samples have lost their labels. */
function seenIn(block: Block, head: Head, index: LabelIndex, lost: string[]): number {
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

interface ReplayInto {
  readonly dir: string;
  readonly manifest: IdentifiedManifest;
  readonly index: LabelIndex;
  readonly head: Head;
  readonly blocks: readonly Block[];
  readonly unpersisted: number[];
  readonly lost: string[];
}

function replayInto({ dir, manifest, index, head, blocks, unpersisted, lost }: ReplayInto) {
  let [samples, orphans] = [0, 0];
  const unlabelled = new Set<number>();
  const target = {
    isNewer: (columns: WalSampleColumns, i: number) => head.isNewer(columns, i),
    lookUp: (columns: WalSampleColumns, i: number) =>
      lookUp([...head.epochs.map(({ source }) => source), ...blocks], columns, i),
    keep: (columns: WalSampleColumns, i: number, late: boolean): void => {
      const ref = columns.refs[i] as number;
      if (!index.table.isAlive(ref)) {
        orphans++;
        unlabelled.add(ref);
        index.table.reserve(ref + 1);
        return;
      }
      samples++;
      head.append(columns, i, late);
    },
  };
  const options = {
    dir: walFolder(dir),
    fromSegment: manifest.walFrom,
    storeId: manifest.storeId,
    ...(manifest.walStart === undefined ? {} : { from: manifest.walStart }),
  };
  const replayed = replayLog(options, {
    series: (ref: number, labels: LabelSet) => {
      const before = index.find(labels);
      if (before === ref) return;
      // A reused number: the series that had it before was dropped, and so was the number these labels had before.
      if (before !== undefined) index.drop(before);
      if (index.table.isAlive(ref)) index.drop(ref);
      index.add(labels, ref);
      unpersisted.push(ref);
    },
    samples: (columns) => appendAll(target, columns, newTally()),
  });
  lost.push(...replayed.lost);
  if (orphans > 0) lost.push(`${orphans} samples in the log have lost their labels`);
  return { ...replayed, samples, unlabelled, lostSamples: replayed.lostSamples + orphans };
}
