/**
 * One lot of the spool on its way to a receiver of samples: cut into lanes by series and into requests, remembering through
 * every attempt what was taken. A request that is refused is taken apart, so that what is bad or was there already takes
 * nothing else with it.
 */
import type { SampleBatch } from "../formats/samples/batch.ts";
import { joinBatches } from "../formats/samples/join.ts";
import { partOf, splitBatch } from "../formats/samples/split.ts";
import type { SendResult } from "../pipeline/ship.ts";

export type PostResult =
  | { readonly outcome: "taken"; readonly refusedSamples?: number; readonly problem?: string }
  /** `maybeTaken`: no answer says that it was not. */
  | {
      readonly outcome: "later";
      readonly problem: string;
      readonly afterMs?: number;
      readonly maybeTaken: boolean;
    }
  | { readonly outcome: "never"; readonly problem: string }
  | { readonly outcome: "too-large"; readonly problem: string };

export type Post = (batch: SampleBatch, signal: AbortSignal) => Promise<PostResult>;

/** What one request carries. Units are what is never cut differently after a restart: a receiver has all of one or nothing. */
interface Request {
  readonly units: readonly SampleBatch[];
  /** It may have been taken before without our knowing: refused, it is there already. */
  readonly uncertain: boolean;
  /** How often a single unit may still be halved to find what is bad in it. */
  readonly halvings: number;
}

const mostHalvings = 32;

export class RequestBatch {
  readonly #lanes: Request[][];
  #refusedSamples = 0;
  #problem: string | undefined;

  /** Each lane's batches in order, one for every record of the lot that has something for it. */
  constructor(
    lanes: readonly (readonly SampleBatch[])[],
    batchSamples: number,
    uncertain: boolean,
  ) {
    this.#lanes = lanes.map((batches) => {
      const units = batches.flatMap((batch) => slices(batch, batchSamples));
      return group(units, batchSamples).map((taken) => ({
        units: taken,
        uncertain,
        halvings: mostHalvings,
      }));
    });
  }

  /** Lanes go at the same time, the requests of each in order. Called again, it goes on where it came to. */
  async send(post: Post, signal: AbortSignal): Promise<SendResult> {
    const stopped = await Promise.all(
      this.#lanes.map((lane) => this.#sendLane(lane, post, signal)),
    );
    const waits = stopped.filter((result) => result !== undefined);
    const [first] = waits;
    if (first !== undefined) {
      const afterMs = Math.max(...waits.map((wait) => wait.afterMs ?? 0));
      return { outcome: "retry", problem: first.problem, ...(afterMs > 0 && { afterMs }) };
    }
    return {
      outcome: "sent",
      refusedSamples: this.#refusedSamples,
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  async #sendLane(
    lane: Request[],
    post: Post,
    signal: AbortSignal,
  ): Promise<{ problem: string; afterMs?: number } | undefined> {
    for (let request = lane[0]; request !== undefined; request = lane[0]) {
      const result = await post(joinBatches(request.units), signal);
      if (result.outcome === "later") {
        if (result.maybeTaken) lane[0] = { ...request, uncertain: true };
        return result;
      }
      lane.shift();
      if (result.outcome === "taken") this.#refuse(result.refusedSamples ?? 0, result.problem);
      else {
        const parts = apart(request, result.outcome === "too-large");
        if (parts.length === 0) this.#refuse(samplesIn(request), result.problem);
        lane.unshift(...parts);
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

/** Smaller requests that together are this one; none where it is to be given up. */
function apart({ units, uncertain, halvings }: Request, tooLarge: boolean): Request[] {
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

/** A record larger than a request is always cut at the same places. */
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
