/** Go's floating-point semantics where JavaScript differs, and Prometheus's compensated summation. */

export function goPow(base: number, exponent: number): number {
  if (base === 1) return 1;
  if (base === -1 && (exponent === Infinity || exponent === -Infinity)) return 1;
  return base ** exponent;
}

/** An infinity takes precedence over NaN. */
export function goMax(a: number, b: number): number {
  return a === Infinity || b === Infinity ? Infinity : Math.max(a, b);
}

export function goMin(a: number, b: number): number {
  return a === -Infinity || b === -Infinity ? -Infinity : Math.min(a, b);
}

const bits = new DataView(new ArrayBuffer(8));

/** Exact for powers of two; otherwise equal to Go's result in the last digit. */
export function goLog2(value: number): number {
  if (!(value > 0) || value === Infinity) return Math.log2(value);
  // Below 2^-1022 the exponent's bits are zero, so such values are scaled up first.
  const scale = value < 2.2250738585072014e-308 ? 64 : 0;
  bits.setFloat64(0, scale === 0 ? value : value * 2 ** scale);
  const high = bits.getUint32(0);
  const exponent = ((high >>> 20) & 0x7ff) - 1022 - scale;
  bits.setUint32(0, (high & 0x800fffff) | 0x3fe00000);
  const fraction = bits.getFloat64(0);
  return fraction === 0.5 ? exponent - 1 : Math.log(fraction) * Math.LOG2E + exponent;
}

/** ln 2 / ln 10, rounded once. */
const log10Of2 = 0.3010299956639812;

export function goLog10(value: number): number {
  return goLog2(value) * log10Of2;
}

/** Neumaier's summation: `sum` and its rounding error `lost`. Separate, because callers combine them differently. */
export class Kahan {
  sum = 0;
  lost = 0;

  reset(sum: number): void {
    this.sum = sum;
    this.lost = 0;
  }

  add(value: number): void {
    const next = this.sum + value;
    this.lost = lostIn(this.sum, value, next, this.lost);
    this.sum = next;
  }

  /** The sum for sum_over_time: an infinite sum has no rounding error. */
  get total(): number {
    return Number.isFinite(this.sum) || Number.isNaN(this.sum) ? this.sum + this.lost : this.sum;
  }
}

export function lostIn(sum: number, value: number, next: number, lost: number): number {
  if (next === Infinity || next === -Infinity) return 0;
  return Math.abs(sum) >= Math.abs(value)
    ? lost + (sum - next + value)
    : lost + (value - next + sum);
}

/** The mean of values[from..to): the sum divided by the count, or an incremental mean if the sum would overflow. */
export function meanOf(values: Float64Array, from: number, to: number): number {
  let sum = values[from] ?? 0;
  let lost = 0;
  let mean = 0;
  let incremental = false;
  for (let index = from + 1; index < to; index++) {
    const value = values[index] ?? 0;
    const count = index - from + 1;
    if (!incremental) {
      const next = sum + value;
      if (next !== Infinity && next !== -Infinity) {
        lost = lostIn(sum, value, next, lost);
        sum = next;
        continue;
      }
      incremental = true;
      mean = sum / (count - 1);
      lost /= count - 1;
    }
    const share = (count - 1) / count;
    const base = share * mean;
    const next = base + value / count;
    lost = lostIn(base, value / count, next, share * lost);
    mean = next;
  }
  const count = to - from;
  return incremental ? mean + lost : sum / count + lost / count;
}

/** Like `meanOf`, for many steps in parallel, with the values added one by one. */
export class MeanColumn {
  private readonly count: Uint32Array;
  /** The sum, or the mean once the sum would have overflowed. */
  private readonly held: Float64Array;
  private readonly lost: Float64Array;
  private readonly incremental: Uint8Array;

  constructor(steps: number) {
    this.count = new Uint32Array(steps);
    this.held = new Float64Array(steps);
    this.lost = new Float64Array(steps);
    this.incremental = new Uint8Array(steps);
  }

  add(step: number, value: number): void {
    const { held, lost, incremental } = this;
    const count = (this.count[step] ?? 0) + 1;
    this.count[step] = count;
    if (count === 1) {
      held[step] = value;
      return;
    }
    if (incremental[step] === 0) {
      const sum = held[step] ?? 0;
      const next = sum + value;
      if (next !== Infinity && next !== -Infinity) {
        lost[step] = lostIn(sum, value, next, lost[step] ?? 0);
        held[step] = next;
        return;
      }
      incremental[step] = 1;
      held[step] = sum / (count - 1);
      lost[step] = (lost[step] ?? 0) / (count - 1);
    }
    const share = (count - 1) / count;
    const base = share * (held[step] ?? 0);
    const next = base + value / count;
    lost[step] = lostIn(base, value / count, next, share * (lost[step] ?? 0));
    held[step] = next;
  }

  at(step: number): number {
    const count = this.count[step] ?? 0;
    const [held, lost] = [this.held[step] ?? 0, this.lost[step] ?? 0];
    return this.incremental[step] === 1 ? held + lost : held / count + lost / count;
  }
}
