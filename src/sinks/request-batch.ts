/**
 * Sends one batch of the spool to a receiver of samples: splits it into shards by series and into requests, and resumes
 * where it stopped at every retry. A rejected request is split, so that a bad or duplicate sample does not affect
 * others.
 */
import { type SampleBatch, joinBatches, partOf, splitBatch } from "../formats/samples/batch.ts";
import type { SendResult } from "../base/send/batch-sender.ts";

export type Post = (batch: SampleBatch, signal: AbortSignal) => Promise<SendResult>;

/** Units are cut at the same places after a restart, so the receiver has all of a unit or none of it. */
interface Request {
  readonly units: readonly SampleBatch[];
  /** True if the receiver may have stored it in an earlier attempt; a rejection then means a duplicate. */
  readonly uncertain: boolean;
  /** How often a single unit may still be halved to isolate a bad sample. */
  readonly halvings: number;
}

const mostHalvings = 32;

export class RequestBatch {
  readonly #shards: Request[][];
  #refusedSamples = 0;
  #problem: string | undefined;

  /** @param shards the batches of each shard in order, one per record that has series of the shard */
  constructor(
    shards: readonly (readonly SampleBatch[])[],
    batchSamples: number,
    uncertain: boolean,
  ) {
    this.#shards = shards.map((batches) => {
      const units = batches.flatMap((batch) => slices(batch, batchSamples));
      return group(units, batchSamples).map((grouped) => ({
        units: grouped,
        uncertain,
        halvings: mostHalvings,
      }));
    });
  }

  /** Sends shards in parallel and the requests of each in order. A second call resumes. */
  async send(post: Post, signal: AbortSignal): Promise<SendResult> {
    const stopped = await Promise.all(
      this.#shards.map((shard) => this.#sendShard(shard, post, signal)),
    );
    const waits = stopped.filter((result) => result !== undefined);
    const [first] = waits;
    if (first !== undefined) {
      const afterMs = Math.max(...waits.map((wait) => wait.afterMs ?? 0));
      return { outcome: "retry", problem: first.problem, afterMs };
    }
    return { outcome: "sent", refusedSamples: this.#refusedSamples, problem: this.#problem };
  }

  async #sendShard(
    shard: Request[],
    post: Post,
    signal: AbortSignal,
  ): Promise<Extract<SendResult, { outcome: "retry" }> | undefined> {
    for (let request = shard[0]; request !== undefined; request = shard[0]) {
      const result = await post(joinBatches(request.units), signal);
      if (result.outcome === "retry") {
        if (result.maybeSent === true) shard[0] = { ...request, uncertain: true };
        return result;
      }
      shard.shift();
      if (result.outcome === "sent") this.#refuse(result.refusedSamples ?? 0, result.problem);
      else {
        const parts = split(request, result.isTooLarge === true);
        if (parts.length === 0) this.#refuse(samplesIn(request), result.problem);
        shard.unshift(...parts);
      }
    }
    return undefined;
  }

  #refuse(samples: number, problem: string | undefined): void {
    this.#refusedSamples += samples;
    if (samples > 0) this.#problem = problem;
  }
}

const samplesIn = ({ units }: Request): number =>
  units.reduce((sum, unit) => sum + unit.sampleCount, 0);

/** Splits a request into smaller ones; returns none if it cannot be split further. */
function split({ units, uncertain, halvings }: Request, tooLarge: boolean): Request[] {
  const middle = Math.ceil(units.length / 2);
  if (units.length > 1)
    return [units.slice(0, middle), units.slice(middle)].map((half) => ({
      units: half,
      uncertain,
      halvings,
    }));
  const [unit] = units;
  if (unit === undefined || unit.sampleCount <= 1) return [];
  if (!tooLarge && (uncertain || halvings <= 1)) return [];
  const left = tooLarge ? halvings : halvings / 2;
  return splitBatch(unit).map((half) => ({ units: [half], uncertain, halvings: left }));
}

/** Cuts a record larger than a request, always at the same places. */
function slices(batch: SampleBatch, samples: number): SampleBatch[] {
  if (batch.sampleCount === 0) return [];
  if (batch.sampleCount <= samples) return [batch];
  return Array.from({ length: Math.ceil(batch.sampleCount / samples) }, (_, index) =>
    partOf(batch, index * samples, Math.min(batch.sampleCount, (index + 1) * samples)),
  );
}

function group(units: readonly SampleBatch[], samples: number): SampleBatch[][] {
  const groups: SampleBatch[][] = [];
  let room = 0;
  for (const unit of units) {
    if (unit.sampleCount > room) {
      groups.push([]);
      room = samples;
    }
    groups.at(-1)?.push(unit);
    room -= unit.sampleCount;
  }
  return groups;
}
