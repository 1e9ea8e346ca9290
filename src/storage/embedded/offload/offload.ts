/** Decides whether a query runs in a query worker, plans what the worker reads, and tracks its resource usage. */
import type { Offload, OffloadTask } from "../../../query/engine.ts";
import { selectError } from "../../../query/engine.ts";
import { QueryError } from "../../../query/errors.ts";
import { estimateMs, type SelectionSize, selectsLater } from "../../../query/eval/cost.ts";
import { selectKey, type SelectRequest, selectRequests } from "../../../query/eval/select.ts";
import { SharedCounter } from "../../../query/memory.ts";
import type { Block } from "../blocks/block.ts";
import type { ReadSources } from "../reader.ts";
import { planSelection } from "../rollups/choose.ts";
import { planSelect, type PlannedSelect } from "./plan.ts";
import type { PoolResponse, QueryPool } from "./pool.ts";

/**
 * Queries below this estimate stay in the main thread, which yields every 12 ms: a fresh worker runs code that is not
 * compiled yet, and would take longer than this.
 */
const defaultOffloadMs = 30;
/** The same while other queries run, once a worker has started: their slices would add up in the main thread. */
const busyOffloadMs = 3;

export function createOffload(
  pool: QueryPool,
  from: () => ReadSources,
  thresholdMs = defaultOffloadMs,
): Offload {
  return async (task) => {
    const { run, expr, request } = task;
    const requests = selectRequests(run, expr, request);
    if (requests.length === 0 || selectsLater(expr)) return undefined;
    // Start times are only read in the main thread.
    if (requests.some(({ ofStartTimes }) => ofStartTimes)) return undefined;
    const reservedBytes = run.options.memory.bytes;
    const began = run.options.nowMs();
    let plans: readonly PlannedSelect[] | undefined;
    try {
      const sizeOf = (one: SelectRequest): SelectionSize => selectionSize(from(), one);
      const expectedMs = estimateMs(expr, requests, sizeOf);
      if (expectedMs < thresholdMs) {
        if (task.others === 0 || expectedMs < busyOffloadMs) return undefined;
        if (!pool.prepare()) return undefined;
      }
      plans = await planAll(task, requests, from);
    } catch (thrown) {
      throw thrown instanceof QueryError ? thrown : selectError(run, thrown);
    }
    const response = plans && (await runPlanned(pool, task, plans, run.options.nowMs() - began));
    if (response !== undefined && response !== "unreadable") return response;
    run.options.memory.shrinkTo(reservedBytes);
    return undefined;
  };
}

/** Number of matching series, and samples per series in the range if they are spread evenly. */
function selectionSize(
  sources: ReadSources,
  { matchers, fromMs, toMs, hint }: SelectRequest,
): SelectionSize {
  const { index, head, blocks, rollups } = sources;
  const [plan] = planSelection(sources, matchers, hint, fromMs, toMs).plans;
  const read = plan?.rollups;
  const rawFromMs = Math.max(fromMs, read?.rawFromMs ?? fromMs);
  let samples = 0;
  for (const { epoch } of head.epochs) samples += within(epoch, rawFromMs, toMs);
  for (const { footer } of blocks) samples += within(footer, rawFromMs, toMs);
  for (const { resolutionMs, afterMs, toMs: untilMs } of read?.segments ?? [])
    for (const { footer } of rollups.tiers.find((tier) => tier.resolutionMs === resolutionMs)
      ?.blocks ?? [])
      samples += within(footer, afterMs, untilMs);
  return { series: index.select(matchers).length, samples };
}

function within(
  {
    samples,
    series,
    minTimeMs,
    maxTimeMs,
  }: {
    readonly samples: number;
    readonly series: number;
    readonly minTimeMs: number;
    readonly maxTimeMs: number;
  },
  fromMs: number,
  toMs: number,
): number {
  if (series === 0 || maxTimeMs < fromMs || minTimeMs > toMs) return 0;
  const spanMs = Math.max(1, maxTimeMs - minTimeMs);
  const share = (Math.min(toMs, maxTimeMs) - Math.max(fromMs, minTimeMs)) / spanMs;
  return (samples / series) * Math.min(1, share);
}

/** Sequentially, because all plans share one budget and one thread. */
async function planAll(
  { run }: OffloadTask,
  requests: readonly SelectRequest[],
  from: () => ReadSources,
): Promise<readonly PlannedSelect[] | undefined> {
  const { signal, memory: budget, client } = run.options;
  const plans = new Map<string, PlannedSelect>();
  const release = (): void => plans.forEach(({ blocks }) => releaseAll(blocks));
  try {
    for (const { matchers, fromMs, toMs, hint } of requests) {
      const key = selectKey(matchers, fromMs, toMs, hint);
      if (plans.has(key)) continue;
      const range = [fromMs, toMs] as const;
      const options = { signal, budget, client, hint };
      const planned = await planSelect(from, key, matchers, range, options);
      if (planned === undefined) {
        release();
        return undefined;
      }
      for (const block of planned.blocks) block.retain();
      plans.set(key, planned);
    }
    return [...plans.values()];
  } catch (thrown) {
    release();
    throw thrown;
  }
}

const releaseAll = (blocks: readonly Block[]): void => blocks.forEach((block) => block.release());

async function runPlanned(
  pool: QueryPool,
  { run, expr, request, format }: OffloadTask,
  planned: readonly PlannedSelect[],
  plannedMs: number,
): Promise<PoolResponse> {
  const { memory, samples, client, signal, ...options } = run.options;
  const { lookbackMs, maxSamples, delayedNameRemoval, typeAndUnitLabels, usesStartTimes } = options;
  const { defaultSubqueryStepMs, maxSubqueryDepth } = options;
  const held = new SharedCounter();
  return pool.run(
    {
      request,
      expr,
      format,
      plans: planned.map(({ plan }) => plan),
      options: {
        lookbackMs,
        maxSamples,
        timeoutMs: run.leftMs,
        delayedNameRemoval,
        typeAndUnitLabels,
        usesStartTimes,
        defaultSubqueryStepMs,
        maxSubqueryDepth,
      },
      perStepStats: run.samplesPerStep !== undefined,
      plannedMs,
      client,
      memory: memory.share(),
      samples: { max: samples.max, all: samples.buffer, own: held.buffer },
    },
    signal,
    (refused) => {
      memory.unshare(refused);
      // Frees the samples of a lost worker; otherwise the worker has released them.
      samples.release(held.value);
      for (const { blocks } of planned) releaseAll(blocks);
    },
  );
}
