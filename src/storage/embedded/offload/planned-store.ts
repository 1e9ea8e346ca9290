/** Runs in a query worker: reads the selections planned by the main thread, from shared memory and block files. */
import type { Label, LabelSet } from "../../../model/labels.ts";
import type {
  Matcher,
  Queryable,
  SelectBudget,
  SelectedSeries,
  SelectHint,
  Selection,
} from "../../../model/select.ts";
import { formatError } from "../../../base/error.ts";
import type { ClientKey } from "../../../base/fair/client-key.ts";
import { loopTurns } from "../../../base/fair/loop-turns.ts";
import { selectKey } from "../../../query/eval/select.ts";
import { Block, type BlockContext } from "../blocks/block.ts";
import { PageCache } from "../blocks/page-cache.ts";
import { EpochSource } from "../head/epoch-source.ts";
import { annotate, SelectionWalk } from "../reader.ts";
import type { SelectionPlan } from "../rollups/choose.ts";
import type { PackedLabels, SelectedBlock, SelectPlan } from "./plan.ts";

/** A block that no query has read for this long is closed. */
const unusedMs = 10_000;
const sliceMs = 12;

/** A block or page cannot be read. The query has to run in the main thread, which manages the quarantine. */
export class UnreadableBlockError extends Error {
  override readonly name = "UnreadableBlockError";
}

/** The blocks that this worker has open. */
export class OpenBlocks {
  readonly #blocks = new Map<number, { readonly block: Block; usedMs: number }>();
  readonly #context: BlockContext;

  constructor(cacheBytes: number) {
    this.#context = {
      cache: new PageCache(cacheBytes),
      onUnreadable: ({ file }, page, _columns, why) => {
        throw new UnreadableBlockError(`page ${page} of ${file}: ${why}`);
      },
    };
  }

  /** Sets the plan's deletions; a selection reads the block completely before another one opens it with different ones. */
  open({ id, file, tombstones }: SelectedBlock): Block {
    const known = this.#blocks.get(id);
    const block = known?.block ?? this.#read(file);
    this.#blocks.set(id, { block, usedMs: performance.now() });
    block.tombstones = tombstones;
    return block;
  }

  closeUnused(): void {
    for (const [id, { block, usedMs }] of this.#blocks) {
      if (performance.now() - usedMs < unusedMs) continue;
      this.#blocks.delete(id);
      block.release();
    }
  }

  #read(file: string): Block {
    try {
      return new Block(file, this.#context);
    } catch (thrown) {
      throw new UnreadableBlockError(`${file}: ${formatError(thrown)}`, { cause: thrown });
    }
  }
}

export class PlannedStore implements Queryable {
  readonly #plans: ReadonlyMap<string, SelectPlan>;
  readonly #blocks: OpenBlocks;
  readonly #client: ClientKey | undefined;

  constructor(plans: readonly SelectPlan[], blocks: OpenBlocks, client: ClientKey | undefined) {
    this.#client = client;
    this.#plans = new Map(plans.map((plan) => [plan.key, plan]));
    this.#blocks = blocks;
  }

  /** Returns the main thread's decision from the plan. */
  heeds(hint: SelectHint, fromMs: number, toMs: number): boolean {
    for (const plan of this.#plans.values())
      if (plan.key.endsWith(selectKey([], fromMs, toMs, hint).slice("[[]".length))) return true;
    return false;
  }

  /** The budget already counts these series, since planning. */
  async select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
    budget?: SelectBudget,
    hint?: SelectHint,
  ): Promise<Selection> {
    const plan = this.#plans.get(selectKey(matchers, fromMs, toMs, hint));
    if (plan === undefined) throw new Error("BUG: a selection that was not planned");
    const labels = unpackLabels(plan.labels);
    const epochs = plan.epochs.map((epoch) => ({ source: new EpochSource({ view: () => epoch }) }));
    const { selections, selectionOf, rawOnly } = plan;
    const walk = new SelectionWalk((at) => labels[at] as LabelSet, fromMs, toMs, budget, hint);
    const selected: SelectedSeries[] = [];
    let untilMs = performance.now() + sliceMs;
    const openAll = () => ({
      epochs,
      blocks: plan.blocks.map((block) => this.#blocks.open(block)),
      tiers: plan.tiers.map(({ resolutionMs, blocks }) => ({
        resolutionMs,
        blocks: blocks.map((block) => this.#blocks.open(block)),
      })),
    });
    let sources = openAll();
    for (let at = 0; at < plan.refs.length; at++) {
      const isRawOnly = rawOnly?.[at] === 1;
      const selection = selections[selectionOf?.[at] ?? 0] as SelectionPlan;
      const from = { ...sources, plan: selection, isRawOnly };
      const found = walk.find(plan.refs[at] as number, from, at);
      if (found !== undefined) selected.push(found);
      if ((at & 15) !== 15 || performance.now() < untilMs) continue;
      await loopTurns.turn("query", this.#client);
      signal?.throwIfAborted();
      untilMs = performance.now() + sliceMs;
      // Another query may have set other deletions, or closed a block.
      sources = openAll();
    }
    const [unreadable] = walk.warnings();
    if (unreadable !== undefined) throw new UnreadableBlockError(unreadable);
    return annotate(selected, plan.warnings, walk.infos());
  }

  labelNames(): Promise<never> {
    return notPlanned();
  }

  labelValues(): Promise<never> {
    return notPlanned();
  }

  series(): Promise<never> {
    return notPlanned();
  }
}

async function notPlanned(): Promise<never> {
  throw new Error("BUG: a query worker selects samples only");
}

function unpackLabels({ texts, names, values, starts, pairs }: PackedLabels): LabelSet[] {
  const labels = Array.from(names, (name, pair): Label => [
    texts[name] as string,
    texts[values[pair] as number] as string,
  ]);
  return Array.from({ length: starts.length - 1 }, (_, at) =>
    Array.from(pairs.subarray(starts[at], starts[at + 1]), (pair) => labels[pair] as Label),
  );
}
