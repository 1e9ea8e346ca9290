/** What one kind of work on one model of GPU usually costs, and by how much its runs differ from each other. Bounded memory. */
import { StreamFit } from "./statistics/fit.ts";
import { medianOf, sigmaPerMad, Spread } from "./statistics/spread.ts";

const mostRuns = 48;
const leastRuns = 3;
const leastSigma = 0.015;

export interface RunLimit {
  /** What runs of this kind have in the middle. */
  readonly middle: number;
  /** How far above it is more than runs differ. */
  readonly limit: number;
  readonly sigma: number;
}

/** One measure of how much less work than usual is done: as a share, 0 is as usual. */
export class Measure {
  /** Window to window within one run. */
  readonly within = new Spread(leastSigma);
  /** Whole runs, the newest ones. */
  readonly #runs: number[] = [];

  get runs(): number {
    return this.#runs.length;
  }

  ran(less: number): void {
    this.#runs.push(less);
    if (this.#runs.length > mostRuns) this.#runs.shift();
  }

  /** Undefined while too few runs are known. */
  limit(leastShare: number, sigmasOff: number): RunLimit | undefined {
    if (this.#runs.length < leastRuns) return undefined;
    const middle = medianOf(this.#runs);
    const away = medianOf(this.#runs.map((run) => Math.abs(run - middle)));
    const sigma = Math.max(leastSigma, sigmaPerMad * away);
    // Runs of a kind differ by more on one side than on the other: well beyond the worst so far counts, the less the more there were.
    const beyond = Math.max(...this.#runs) - middle + leastSigma * 2 + 0.5 / this.#runs.length;
    return { middle, sigma, limit: Math.max(leastShare, sigmasOff * sigma, beyond) };
  }
}

export class WorkGroup {
  /** Power by utilisation and its square. */
  readonly power = new StreamFit(3, 4_000, 0.05, 1);
  /** Use of the memory controller over utilisation. */
  readonly traffic = new Spread(0.01);
  readonly clock = new Spread(1e6);
  readonly byPower = new Measure();
  readonly byTraffic = new Measure();
}

/** `training-12`, `llm-serve-7c9f8d-x2k4p` and `resnet_000123` without what makes each of them one of many. */
export function kindOfWork(owner: string): string {
  const kind = owner
    .replace(/-[a-z0-9]{6,10}-[a-z0-9]{5}$/, "")
    .replace(/-(?=[a-z0-9]*\d)[a-z0-9]{5}$/, "")
    .replace(/[-_.:]?\d+$/, "");
  return kind === "" || kind.endsWith("/") ? owner : kind;
}
