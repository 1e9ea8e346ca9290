/**
 * Opens a data folder: the files in the manifest, then the log after them. Damage is reported and skipped and never
 * prevents a start; a file that cannot be read is set aside, not deleted.
 */
import { readdirSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import { makeFolderSync } from "../../base/make-folder.ts";
import type { LabelSet } from "../../model/labels.ts";
import { appendAll, newTally } from "./append.ts";
import type { WalSampleColumns } from "./wal/records.ts";
import type { Block, BlockContext } from "./blocks/block.ts";
import { PageCache } from "./blocks/page-cache.ts";
import { DiskFailures, isDiskFull } from "./failures.ts";
import {
  emptyManifest,
  formatVersion,
  loadTombstone,
  type StoreManifest,
  newStoreId,
  readManifest,
  writeManifest,
} from "./files/manifest.ts";
import { openSeriesLog, seriesLogStore } from "./files/read-series-log.ts";
import { Head } from "./head/head.ts";
import { LabelIndex } from "./index/index.ts";
import { lookUp } from "./lookup.ts";
import {
  openBlock,
  type OpenBlockOptions,
  openRollups,
  seenIn,
  seenInRollup,
} from "./open-blocks.ts";
import { describeUnreadable, Quarantine, unreadablePage } from "./quarantine.ts";
import { formatResolution, resolutionsMs } from "./rollups/columns.ts";
import { isRebuildable } from "./rollups/rebuild.ts";
import { rollupBlocks, rollupFile, rollupsFolder } from "./rollups/state.ts";
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
  blockFile,
  blocksFolder,
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
  // Undefined during the log replay, which only reads pages of raw samples.
  const opened: { state?: StoreState } = {};
  const context: BlockContext = {
    cache: new PageCache(options.memoryBytes),
    onUnreadable: (block, page, _columns, why) => {
      const part = unreadablePage(block, page, why);
      if (!quarantine.add(part)) return;
      // The next maintenance round rebuilds this rollup from raw samples, which are read until then.
      const { state: store } = opened;
      if (store && rollupBlocks(store.rollups).includes(block) && isRebuildable(store, block))
        return;
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
      // Without a manifest: raw samples are gone up to where only rollups exist.
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
  opened.state = state;
  assignTombstones(state);
  releaseUnused(state);
  try {
    if (state.pendingRewrite === undefined) writeStateIfChanged(state);
    else renewSeriesLog(state);
  } catch (thrown) {
    // On a full disk existing data is served; maintenance later writes the manifest and the series log.
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

interface IdentifiedManifest extends StoreManifest {
  readonly storeId: string;
  readonly generation: number;
  /** True if nothing proves that this is the latest manifest: files it does not list may still be needed. */
  readonly isUnproven: boolean;
}

/** Returns the manifest, or one rebuilt from the files in the folder if it is missing, damaged or an older copy. */
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
    // Written first, so that a crash during a first start leaves no files without a manifest.
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
    // Ranges with raw samples are rolled up again and replace the rollups found.
    rollups: { rolledToMs: null, outdated: [], tiers },
    nextBlock: Math.max(0, ...blocks, ...tiers.flatMap((tier) => tier.blocks)) + 1,
    walFrom: segments[0] ?? 1,
    seriesLog: series.at(-1) ?? 1,
  };
}

/** For a manifest without a store id: the id in the other files, or a new one for files of version 1. */
function findStoreId(dir: string, seriesLog: number): string {
  const wal = walFolder(dir);
  let storeId = seriesLogStore(seriesFile(dir, seriesLog));
  for (const segment of listSegments(wal).reverse()) storeId ??= segmentStore(wal, segment);
  return storeId ?? newStoreId();
}

/**
 * Removes the leftovers of a crash: half-written files, and blocks that are not in the manifest. If the manifest may be
 * an older copy, such a block may be the only one with its samples, so it is set aside.
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
      // A reused number: its previous series was dropped, and so was the previous number of these labels.
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
