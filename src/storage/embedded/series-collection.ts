/** Drops series that have no samples left, so that their numbers are reused and churn does not make the store grow. */
import { existsSync, renameSync, rmSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { checkFile, SeriesLog } from "./files/series-log.ts";
import { LabelIndex } from "./index/index.ts";
import { seriesRef } from "./rollups/columns.ts";
import { rollupBlocks } from "./rollups/state.ts";
import { changeState, seriesFile, type StoreState } from "./state.ts";

/** About 20 ms of work. */
const perSlice = 10_000;
/** With fewer dead label pairs a rewrite of the index does not pay off. */
const fewPairs = 50_000;

/** Numbers in use by the head, blocks or rollups; a block may contain some whose labels were lost. */
function numbersInUse(state: StoreState): Uint8Array {
  const used = new Uint8Array(state.index.table.end);
  for (const block of [...state.blocks, ...state.removed.map((removed) => removed.block)])
    for (const ref of block.directory.refs) used[ref] = 1;
  // A series may have rollups left after its samples are gone.
  for (const block of rollupBlocks(state.rollups))
    for (const column of block.directory.refs) used[seriesRef(column)] = 1;
  for (const { epoch } of state.head.epochs) {
    const { inOrder, late } = epoch.view();
    for (const chains of late === undefined ? [inOrder] : [inOrder, late])
      for (let ref = 0; ref < used.length; ref++) if ((chains.count[ref] ?? 0) > 0) used[ref] = 1;
  }
  for (const ref of state.unpersisted) used[ref] = 1;
  for (const ref of state.unlabelled) used[ref] = 1;
  return used;
}

/** Frees unused numbers at startup. */
export function releaseUnused(state: StoreState): void {
  // A block that could not be opened may use any number.
  if (state.quarantine.unopenedAll.length > 0) return;
  const used = numbersInUse(state);
  for (let ref = used.length - 1; ref >= 0; ref--)
    if (used[ref] === 0 && !state.index.table.isAlive(ref)) state.index.table.release(ref);
}

/**
 * Drops the series that have no samples left and returns their number. Runs in slices and yields in between: after a
 * delete there may be hundreds of thousands. `onDropped` runs in the same turn as each slice. Call only from within the
 * queue.
 */
export async function dropUnused(state: StoreState, onDropped: () => void): Promise<number> {
  if (state.quarantine.unopenedAll.length > 0) return 0;
  const used = numbersInUse(state);
  const unused: number[] = [];
  for (let ref = 0; ref < used.length; ref++)
    if (used[ref] === 0 && state.index.table.isAlive(ref)) unused.push(ref);
  let dropped = 0;
  for (let at = 0; at < unused.length; at += perSlice) {
    if (at > 0) await nextTurn();
    // Blocks change only in the queue, but samples may have arrived since.
    const slice = unused.slice(at, at + perSlice).filter((ref) => !isInHead(state, ref));
    drop(state, slice);
    dropped += slice.length;
    onDropped();
  }
  if (dropped === 0) return 0;
  await nextTurn();
  if (isMostlyDead(state.index)) renewSeriesLog(state);
  return dropped;
}

function drop(state: StoreState, refs: readonly number[]): void {
  state.seriesLog.drop(refs);
  state.seriesLog.syncNow();
  state.index.dropAll(refs);
  for (const ref of refs) {
    state.index.table.release(ref);
    state.head.forget(ref);
    state.budget.dropped(ref);
  }
}

const isInHead = ({ head }: StoreState, ref: number): boolean =>
  head.epochs.some(({ epoch }) => {
    const { inOrder, late } = epoch.view();
    return (inOrder.count[ref] ?? 0) > 0 || (late?.count[ref] ?? 0) > 0;
  });

function isMostlyDead({ pairs }: LabelIndex): boolean {
  let dead = 0;
  for (let pair = 0; pair < pairs.count; pair++) if (pairs.series.length(pair) === 0) dead++;
  return dead > fewPairs && dead * 2 > pairs.count;
}

/** Writes the remaining series to a new series log. Files of a damaged one are set aside instead of removed. */
export function renewSeriesLog(state: StoreState): void {
  const isDamaged = state.pendingRewrite?.isDamaged === true;
  const old = rewriteSeriesLog(state);
  state.pendingRewrite = undefined;
  for (const file of [old, checkFile(old)])
    if (!isDamaged) rmSync(file, { force: true });
    else if (existsSync(file)) renameSync(file, `${file}.damaged`);
}

/** Symbols are never reused, so the index is rebuilt as well. Returns the previous file. */
function rewriteSeriesLog(state: StoreState): string {
  const { index: old, options } = state;
  const index = new LabelIndex();
  const refs: number[] = [];
  for (let ref = 0; ref < old.table.end; ref++) {
    if (!old.table.isAlive(ref)) continue;
    index.add(old.labels(ref), ref);
    refs.push(ref);
  }
  index.table.reserve(old.table.end);
  const number = state.seriesLogNumber + 1;
  const { storeId, requireLock } = state;
  const file = seriesFile(options.dir, number);
  const log = new SeriesLog({ file, storeId, number, requireLock });
  log.add(index, refs);
  log.syncNow();
  const [oldLog, oldNumber] = [state.seriesLog, state.seriesLogNumber];
  changeState(state, { seriesLog: log, seriesLogNumber: number });
  state.index = index;
  state.unpersisted = [];
  releaseUnused(state);
  oldLog.close();
  return seriesFile(options.dir, oldNumber);
}
