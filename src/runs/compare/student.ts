/** Student's t distribution, by the regularised incomplete beta function. */

/** Lanczos's approximation, accurate to ten digits. */
const lanczos = [
  76.18009172947146, -86.5053203294168, 24.01409824083091, -1.231739572450155,
  0.1208650973866179e-2, -0.5395239384953e-5,
] as const;

function logGamma(x: number): number {
  const shifted = x + 5.5;
  let series = 1.000000000190015;
  lanczos.forEach((factor, at) => (series += factor / (x + at + 1)));
  return (x + 0.5) * Math.log(shifted) - shifted + Math.log((Math.sqrt(2 * Math.PI) * series) / x);
}

/** Lentz's continued fraction. */
function betaFraction(x: number, a: number, b: number): number {
  let [c, d] = [1, 1 / (1 - ((a + b) * x) / (a + 1))];
  let fraction = d;
  for (let m = 1; m < 500; m += 1) {
    const even = (m * (b - m) * x) / ((a - 1 + 2 * m) * (a + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 1 + 2 * m));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 1e-13) break;
  }
  return fraction;
}

function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  return x < (a + 1) / (a + b + 2)
    ? (front * betaFraction(x, a, b)) / a
    : 1 - (front * betaFraction(1 - x, b, a)) / b;
}

/** The two-sided p-value: the probability of a t at least as far from 0 by chance. */
export const twoSided = (t: number, freedom: number): number =>
  incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);

/** The critical t, which chance exceeds on either side in `1 - level` of all cases. */
export function criticalT(level: number, freedom: number): number {
  let [low, high] = [0, 2];
  while (twoSided(high, freedom) > 1 - level) high *= 2;
  for (let round = 0; round < 48; round += 1) {
    const middle = (low + high) / 2;
    if (twoSided(middle, freedom) > 1 - level) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
