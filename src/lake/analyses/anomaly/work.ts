/** The usual cost of one kind of work on one GPU model, and how much its runs differ. Bounded memory. */
import { StreamFit } from "./statistics/fit.ts";
import { medianOf, sigmaPerMad, Spread } from "./statistics/spread.ts";

const mostRuns = 48;
const leastRuns = 3;
const leastSigma = 0.015;

export interface RunLimit {
  /** The median over the runs of this kind. */
  readonly middle: number;
  /** A deviation above the median that exceeds the differences between runs. */
  readonly limit: number;
  readonly sigma: number;
}

/** One measure of how much less work than usual is done: a share, where 0 is as usual. */
export class Measure {
  /** The spread between windows of one run. */
  readonly within = new Spread(leastSigma);
  /** The newest whole runs. */
  readonly #runs: number[] = [];

  get runs(): number {
    return this.#runs.length;
  }

  ran(less: number): void {
    this.#runs.push(less);
    if (this.#runs.length > mostRuns) this.#runs.shift();
  }

  /** Undefined if too few runs are known. */
  limit(leastShare: number, sigmasOff: number): RunLimit | undefined {
    if (this.#runs.length < leastRuns) return undefined;
    const middle = medianOf(this.#runs);
    const away = medianOf(this.#runs.map((run) => Math.abs(run - middle)));
    const sigma = Math.max(leastSigma, sigmaPerMad * away);
    // The runs of a kind are distributed unevenly: the limit is well beyond the worst one so far, by less the more runs there
    // were.
    const beyond = Math.max(...this.#runs) - middle + leastSigma * 2 + 0.5 / this.#runs.length;
    return { middle, sigma, limit: Math.max(leastShare, sigmasOff * sigma, beyond) };
  }
}

export class WorkGroup {
  /** Power over utilisation and its square. */
  readonly power = new StreamFit(3, 4_000, 0.05, 1);
  /** Memory controller utilization relative to utilization. */
  readonly traffic = new Spread(0.01);
  readonly clock = new Spread(1e6);
  readonly byPower = new Measure();
  readonly byTraffic = new Measure();
}

/** `training-12`, `llm-serve-7c9f8d-x2k4p` and `resnet_000123` without the suffix that distinguishes runs. */
export function kindOfWork(owner: string): string {
  const kind = owner
    .replace(/-[a-z0-9]{6,10}-[a-z0-9]{5}$/, "")
    .replace(/-(?=[a-z0-9]*\d)[a-z0-9]{5}$/, "")
    .replace(/[-_.:]?\d+$/, "");
  return kind === "" || kind.endsWith("/") ? owner : kind;
}
