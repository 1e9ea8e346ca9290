/**
 * The job queue of one machine. A closed loop, as on a real shared machine: each user thinks, submits a job, waits for a free
 * GPU, and thinks again after the job has ended. Jobs are drawn from a deck, so that the mix is the same for every seed.
 */
import type { Random } from "../random.ts";
import type { WorkloadKind, JobOutcome, Tally } from "./workload.ts";

export interface JobRule {
  readonly kind: WorkloadKind;
  readonly share: number;
  readonly minutes: readonly [number, number];
  /** Busy share of an inference job. */
  readonly level: readonly [number, number];
}

export interface SimJob {
  readonly name: string;
  readonly user: string;
  readonly userIndex: number;
  readonly kind: WorkloadKind;
  readonly level: number;
  readonly runMs: number;
  endsAtMs: number;
}

const userNames = [
  "ada",
  "ben",
  "chen",
  "dilara",
  "emeka",
  "fatima",
  "goran",
  "hana",
  "ivan",
  "jun",
  "katya",
  "luis",
  "mina",
  "noor",
  "otto",
  "priya",
];
const thinkMs = [15_000, 120_000] as const;
/** Shares of jobs that fail or are cancelled by chance. */
const failedShare = 0.03;
const cancelledShare = 0.04;

export class JobQueue {
  readonly #random: Random;
  readonly #rules: readonly JobRule[];
  readonly #tally: Tally;
  readonly #deck: JobRule[] = [];
  readonly #waiting: SimJob[] = [];
  /** When each user submits next; infinite while one of their jobs waits or runs. */
  readonly #submitsAtMs: number[];
  #submitted = 0;

  constructor(random: Random, rules: readonly JobRule[], users: number, tally: Tally) {
    this.#random = random;
    this.#rules = rules;
    this.#tally = tally;
    // Most users submit at once at startup, since a machine in long use is busy from the start.
    this.#submitsAtMs = Array.from({ length: users }, (_, user) =>
      user < users * 0.85 ? 0 : random.between(...thinkMs),
    );
  }

  /** Submits the jobs of all users whose time has come. Called once per virtual second. */
  tick(nowMs: number): void {
    for (const [user, atMs] of this.#submitsAtMs.entries()) {
      if (atMs > nowMs) continue;
      this.#submitsAtMs[user] = Number.POSITIVE_INFINITY;
      this.#waiting.push(this.#draw(user, nowMs));
    }
    this.#tally.waiting = this.#waiting.length;
  }

  /** Returns the next job for a free GPU. */
  take(nowMs: number): SimJob | undefined {
    const job = this.#waiting.shift();
    if (job === undefined) return undefined;
    job.endsAtMs = nowMs + job.runMs;
    this.#tally.waiting = this.#waiting.length;
    this.#tally.running[job.kind] += 1;
    return job;
  }

  /** Ends a job; `lost` if its GPU failed. */
  end(job: SimJob, nowMs: number, lost: boolean): void {
    const luck = this.#random.next();
    const outcome: JobOutcome =
      lost || luck < failedShare
        ? "failed"
        : luck < failedShare + cancelledShare
          ? "cancelled"
          : "succeeded";
    this.#tally.running[job.kind] -= 1;
    this.#tally.ended[job.kind][outcome] += 1;
    this.#submitsAtMs[job.userIndex] = nowMs + this.#random.between(...thinkMs);
  }

  #draw(user: number, nowMs: number): SimJob {
    const random = this.#random;
    if (this.#deck.length === 0) this.#shuffle();
    const rule = this.#deck.pop();
    if (rule === undefined) throw new Error("BUG: a queue without jobs in its deck");
    this.#submitted += 1;
    const round = Math.floor(user / userNames.length);
    // Jobs at the start have already been running for a while.
    const left = nowMs === 0 ? random.between(0.15, 1) : 1;
    return {
      name: `${rule.kind}-${this.#submitted}`,
      user: `${userNames[user % userNames.length] ?? "user"}${round === 0 ? "" : round + 1}`,
      userIndex: user,
      kind: rule.kind,
      level: random.between(...rule.level),
      runMs: random.between(...rule.minutes) * 60_000 * left,
      endsAtMs: Number.POSITIVE_INFINITY,
    };
  }

  #shuffle(): void {
    for (const rule of this.#rules)
      for (let card = 0; card < rule.share; card++) this.#deck.push(rule);
    for (let at = this.#deck.length - 1; at > 0; at--) {
      const other = this.#random.below(at + 1);
      const card = this.#deck[at];
      const swapped = this.#deck[other];
      if (card === undefined || swapped === undefined)
        throw new Error("BUG: shuffled past the deck");
      this.#deck[at] = swapped;
      this.#deck[other] = card;
    }
  }
}
