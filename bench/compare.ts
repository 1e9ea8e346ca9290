/**
 * How often the comparison is wrong, and what it can detect: `npm run bench:compare [-- PAIRS]`. Seeded: two runs print the same.
 */
import { differenceOf } from "../src/runs/compare/difference.ts";
import { type Figures, figuresOf } from "../src/runs/compare/figures.ts";
import { normal, repeatsOf, type Truth } from "../test/fixtures/runs/compare.ts";
import { metrics } from "../src/runs/compare/metrics.ts";
import { seeded } from "../src/runs/compare/random.ts";
import { differenceOfRanges, windowsOf } from "../src/runs/compare/windows.ts";
import type { RunSeries, ComparisonSubject } from "../src/runs/compare/series.ts";

const pairs = Number(process.argv[2] ?? 1_000);
const metricKeys = ["power", "throughput", "perWatt"] as const;
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const base = {
  watts: 300,
  work: 5_000,
  between: 0.01,
  within: 0.05,
  seconds: 5,
  samplingMs: 200,
} as const;

interface Noise extends Partial<Pick<Truth, "following" | "within" | "draw">> {
  readonly says: string;
  readonly between?: number;
  /** How many times noisier the second subject is. */
  readonly noisier?: number;
}

const noises: readonly Noise[] = [
  { says: "readings independent" },
  { says: "readings follow each other (0.9)", following: 0.9 },
  { says: "readings follow each other (0.99)", following: 0.99, within: 0.1 },
  { says: "runs differ as exponential noise", draw: (random) => -Math.log(1 - random()) - 1 },
  {
    says: "one run in ten is four times as far off",
    draw: (random) => (random() < 0.1 ? 4 : 1) * normal(random),
  },
  { says: "the second is twice as noisy", noisier: 2 },
  { says: "the second is five times as noisy", noisier: 5 },
];

const compared = metrics.filter(({ key }) => metricKeys.some((one) => one === key));

/** Every run as its numbers, from which the verdict is derived. */
const figuresOfAll = ({ runs }: ComparisonSubject) => runs.map((run) => figuresOf(run, compared));
const valuesOf = (all: readonly Figures[], key: string) =>
  all.map((one) => one.get(key)?.value ?? { why: "not there" });

/** The share of pairs reported as a real difference, per metric. */
function share(repeats: number, noise: Noise, shift: number, seed: number): number[] {
  const random = seeded(seed);
  const truth = { ...base, ...noise, repeats };
  const found = metricKeys.map(() => 0);
  for (let pair = 0; pair < pairs; pair += 1) {
    const one = figuresOfAll(repeatsOf({ ...truth, name: "A" }, random));
    const other = figuresOfAll(
      repeatsOf(
        {
          ...truth,
          name: "B",
          between: truth.between * (noise.noisier ?? 1),
          watts: base.watts * (1 + shift),
          work: base.work * (1 + shift),
        },
        random,
      ),
    );
    metricKeys.forEach((key, at) => {
      const metric = compared.find((candidate) => candidate.key === key);
      if (metric === undefined) throw new Error(`BUG: ${key} is not compared`);
      const { verdict } = differenceOf(metric, valuesOf(one, key), valuesOf(other, key), {
        paired: false,
        level: 0.95,
      });
      if (verdict === "real") found[at] = (found[at] ?? 0) + 1;
    });
  }
  return found.map((count) => count / pairs);
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`.padStart(8);
const line = (label: string, cells: readonly string[]): void =>
  print(`${label.padEnd(44)}${cells.join("  ")}`);

print(
  `False "real" verdicts over ${pairs} null pairs each, at 95 %; runs differ by 1 %, readings by 5 %`,
);
line(
  "repeats of each, noise",
  metricKeys.map((key) => key.padStart(10)),
);
let outside = 0;
for (const repeats of [3, 5, 10])
  for (const noise of noises) {
    const shares = share(repeats, noise, 0, 1_000 + repeats);
    // Cases with one noisier side or a non-normal distribution are printed but not checked against the bound.
    if (noise.noisier === undefined && noise.draw === undefined)
      outside += shares.filter((one) => one < 0.035 || one > 0.065).length;
    line(
      `${String(repeats).padStart(3)}  ${noise.says}`,
      shares.map((one) => percent(one).padStart(10)),
    );
  }
print(
  outside === 0
    ? "Every share without lopsided noise is between 3.5 and 6.5 %."
    : `${outside} shares are outside 3.5 to 6.5 %.`,
);
print("");
for (const between of [0.003, 0.01, 0.03]) {
  print(
    `Share of true differences that are seen (power), where runs differ by ${(100 * between).toFixed(1)} %`,
  );
  line(
    "repeats of each",
    ["1 %", "2 %", "5 %", "10 %"].map((one) => one.padStart(8)),
  );
  for (const repeats of [3, 5, 10, 20])
    line(
      String(repeats).padStart(3),
      [0.01, 0.02, 0.05, 0.1].map((shift) =>
        percent(
          share(repeats, { says: "", between, following: 0.5, within: 0.005 }, shift, 7)[0] ?? 0,
        ),
      ),
    );
}
print("");
print(
  'False "real" verdicts (power) between two GPUs that were watched for 25 minutes, by stretches',
);
const watchedMetric = compared.find(({ key }) => key === "power");
for (const following of [0, 0.5, 0.9])
  for (const paired of [true, false]) {
    const { reported, real } = watchedShare(following, paired);
    line(`     following ${following}, ${paired ? "the same time" : "another time"}`, [
      percent(reported === 0 ? Number.NaN : real / reported),
      `of ${reported} pairs that got a verdict`,
    ]);
  }

function watchedShare(following: number, paired: boolean): { reported: number; real: number } {
  const random = seeded(5);
  let [reported, real] = [0, 0];
  if (watchedMetric === undefined) throw new Error("BUG: power is not compared");
  for (let pair = 0; pair < pairs / 2; pair += 1) {
    const truth = { ...base, repeats: 1, between: 0, following, seconds: 1_500, samplingMs: 1_000 };
    const wholes = ["A", "B"].flatMap((name) => repeatsOf({ ...truth, name }, random).runs);
    const valueOf = (run: RunSeries) =>
      figuresOf(run, [watchedMetric]).get("power")?.value ?? { why: "not there" };
    const [one, other] = wholes.map((whole) => ({
      whole,
      value: valueOf(whole),
      windows: windowsOf(whole, () => whole.work).map(valueOf),
    }));
    if (one === undefined || other === undefined) throw new Error("BUG: a pair has two");
    const { verdict, p } = differenceOfRanges(watchedMetric, one, other, { paired, level: 0.95 });
    // Without a p, the readings were too few or too correlated for a test.
    if (p !== undefined) reported += 1;
    if (verdict === "real") real += 1;
  }
  return { reported, real };
}
process.exitCode = outside === 0 ? 0 : 1;
