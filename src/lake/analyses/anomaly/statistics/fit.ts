/**
 * A streaming linear fit: least squares with slow forgetting, regularized towards what peers have learned, and with a small
 * weight for outliers. Constant memory: a few dozen numbers.
 */
import { Spread } from "./spread.ts";

export interface Prediction {
  readonly value: number;
  /** The robust standard deviation of past residuals, larger for inputs unlike any seen before. */
  readonly sigma: number;
}

/** Residuals beyond this many sigmas have no more influence than one at it. */
const huberSigmas = 2.5;
/** Consecutive observations are correlated: this many count as one independent observation. */
const alike = 10;
/** The solution changes little from one block to the next. */
const solveEvery = 6;

export class StreamFit {
  readonly size: number;
  readonly #gram: Float64Array;
  readonly #moment: Float64Array;
  readonly #weights: Float64Array;
  readonly #factor: Float64Array;
  readonly #work: Float64Array;
  readonly #keep: number;
  readonly #pull: number;
  readonly #residuals: Spread;
  #prior: Float64Array | undefined;
  #untilSolve = 0;
  count = 0;

  /** `memory` is the number of observations that count; `pull` is the weight of the prior, in observations per direction. */
  constructor(size: number, memory: number, pull: number, leastSigma: number) {
    this.size = size;
    this.#gram = new Float64Array(size * size);
    this.#factor = new Float64Array(size * size);
    this.#moment = new Float64Array(size);
    this.#weights = new Float64Array(size);
    this.#work = new Float64Array(size);
    this.#keep = 1 - 1 / memory;
    this.#pull = pull;
    // Slower than the fit itself: a creeping fault must not become the noise it is compared with.
    this.#residuals = new Spread(leastSigma, 0.004);
  }

  get weights(): Float64Array {
    return this.#weights;
  }

  get sigma(): number {
    return this.#residuals.sigma;
  }

  /** Sets a prior learned from peers: used until own observations outweigh it. */
  believe(weights: Float64Array): void {
    this.#prior = weights.slice();
    if (this.count === 0) this.#weights.set(weights);
    this.#untilSolve = 0;
  }

  predict(inputs: Float64Array): Prediction {
    if (this.#untilSolve <= 0) this.#solve();
    let value = 0;
    for (let at = 0; at < this.size; at++)
      value += (this.#weights[at] as number) * (inputs[at] as number);
    return { value, sigma: this.sigma * Math.sqrt(1 + alike * this.#leverage(inputs)) };
  }

  /** Learns an observation and returns the residual of the prediction. */
  learn(inputs: Float64Array, value: number): number {
    const { size } = this;
    const residual = value - this.predict(inputs).value;
    const settled = this.count > 30;
    if (this.count > 0) this.#residuals.add(residual);
    const far = Math.abs(residual) / (huberSigmas * this.sigma);
    const weight = settled && far > 1 ? 1 / far : 1;
    for (let row = 0; row < size; row++) {
      const scaled = weight * (inputs[row] as number);
      this.#moment[row] = (this.#moment[row] as number) * this.#keep + scaled * value;
      for (let column = 0; column <= row; column++) {
        const place = row * size + column;
        this.#gram[place] =
          (this.#gram[place] as number) * this.#keep + scaled * (inputs[column] as number);
      }
    }
    this.count += 1;
    this.#untilSolve = settled ? this.#untilSolve - 1 : 0;
    return residual;
  }

  /** Cholesky decomposition of the Gram matrix with `pull` on its diagonal, which keeps it positive definite. */
  #solve(): void {
    const { size } = this;
    const factor = this.#factor;
    const work = this.#work;
    for (let row = 0; row < size; row++) {
      for (let column = 0; column <= row; column++) {
        let sum = this.#gram[row * size + column] as number;
        if (row === column) sum += this.#pull;
        for (let inner = 0; inner < column; inner++)
          sum -= (factor[row * size + inner] as number) * (factor[column * size + inner] as number);
        factor[row * size + column] =
          row === column
            ? Math.sqrt(Math.max(sum, 1e-9))
            : sum / (factor[column * size + column] as number);
      }
    }
    for (let row = 0; row < size; row++) {
      let sum = (this.#moment[row] as number) + this.#pull * (this.#prior?.[row] ?? 0);
      for (let inner = 0; inner < row; inner++)
        sum -= (factor[row * size + inner] as number) * (work[inner] as number);
      work[row] = sum / (factor[row * size + row] as number);
    }
    for (let row = size - 1; row >= 0; row--) {
      let sum = work[row] as number;
      for (let inner = row + 1; inner < size; inner++)
        sum -= (factor[inner * size + row] as number) * (this.#weights[inner] as number);
      this.#weights[row] = sum / (factor[row * size + row] as number);
    }
    this.#untilSolve = solveEvery;
  }

  /** The inputs' distance from past observations: near 0 for common inputs, large for unprecedented ones. */
  #leverage(inputs: Float64Array): number {
    const { size } = this;
    let sum = 0;
    for (let row = 0; row < size; row++) {
      let value = inputs[row] as number;
      for (let inner = 0; inner < row; inner++)
        value -= (this.#factor[row * size + inner] as number) * (this.#work[inner] as number);
      value /= this.#factor[row * size + row] as number;
      this.#work[row] = value;
      sum += value * value;
    }
    return sum;
  }
}
