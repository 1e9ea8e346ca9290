import { expect, test } from "vitest";
import { type RateInterval, splitEnergy } from "./energy-split.ts";

/** A repeatable generator (mulberry32), for noise. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const truth = { idle: 120, prompt: 0.02, generated: 0.35 };

function intervals(
  count: number,
  noiseWatts: number,
  rates: (at: number, next: () => number) => readonly [number, number],
  seed = 7,
): RateInterval[] {
  const next = random(seed);
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return Array.from({ length: count }, (_, at) => {
    const [promptTokensPerSecond, generatedTokensPerSecond] = rates(at, next);
    const watts =
      truth.idle +
      truth.prompt * promptTokensPerSecond +
      truth.generated * generatedTokensPerSecond +
      noiseWatts * normal();
    return { seconds: 5, watts, promptTokensPerSecond, generatedTokensPerSecond };
  });
}

const varied = (_: number, next: () => number): readonly [number, number] => [
  2_000 + 8_000 * next(),
  200 + 1_000 * next(),
];

test("without noise the true costs come back exactly", () => {
  const split = splitEnergy(intervals(60, 0, varied));
  if ("absent" in split) throw new Error(split.absent);
  expect(split.joulesPerPromptToken.value).toBeCloseTo(truth.prompt, 9);
  expect(split.joulesPerGeneratedToken.value).toBeCloseTo(truth.generated, 9);
  expect(split.idleWatts.value).toBeCloseTo(truth.idle, 6);
  expect(split.joulesPerPromptToken.standardError).toBeLessThan(1e-9);
});

test("with noise the truth lies within two standard errors in about 95 of 100 cases", () => {
  const hits = { prompt: 0, generated: 0, idle: 0, ratio: 0 };
  for (let seed = 1; seed <= 200; seed++) {
    const all = intervals(60, 20, varied, seed);
    const split = splitEnergy(all);
    if ("absent" in split) throw new Error(split.absent);
    const mean = (of: (one: RateInterval) => number): number =>
      all.reduce((sum, one) => sum + of(one), 0) / all.length;
    const prefill = truth.prompt * mean((one) => one.promptTokensPerSecond);
    const decode = truth.generated * mean((one) => one.generatedTokensPerSecond);
    for (const [name, found, wanted] of [
      ["prompt", split.joulesPerPromptToken, truth.prompt],
      ["generated", split.joulesPerGeneratedToken, truth.generated],
      ["idle", split.idleWatts, truth.idle],
      ["ratio", split.prefillRatio, prefill / (prefill + decode)],
    ] as const)
      if (Math.abs(found.value - wanted) <= 2 * found.standardError) hits[name] += 1;
  }
  for (const hit of Object.values(hits)) {
    expect(hit).toBeGreaterThan(180);
    expect(hit).toBeLessThan(200);
  }
});

test("noise that lasts over many intervals widens the error", () => {
  const drift = intervals(120, 0, varied).map((one, at) => ({
    ...one,
    watts: one.watts + 30 * Math.sin(at / 10),
  }));
  const shuffled = drift.map((one, at) => ({
    ...one,
    watts: one.watts - 30 * Math.sin(at / 10) + 30 * Math.sin(((at * 53) % 120) / 10),
  }));
  const [lasting, brief] = [splitEnergy(drift), splitEnergy(shuffled)];
  if ("absent" in lasting || "absent" in brief) throw new Error("BUG: no split");
  expect(lasting.joulesPerGeneratedToken.standardError).toBeGreaterThan(
    2 * brief.joulesPerGeneratedToken.standardError,
  );
});

/** Every wave of prompts is counted at its end, and every wave of answers too, up to 0.3 of an interval later. */
function countedLate(count: number, rests: number): RateInterval[] {
  const all = intervals(count, 0, varied);
  const next = random(3);
  let [promptLate, generatedLate] = [0, 0];
  const busy = all.map((one) => {
    const [prompts, answers] = [0.3 * next() * 6_000, 0.3 * next() * 700];
    const late = {
      ...one,
      promptTokensPerSecond: one.promptTokensPerSecond + promptLate - prompts,
      generatedTokensPerSecond: one.generatedTokensPerSecond + generatedLate - answers,
    };
    [promptLate, generatedLate] = [prompts, answers];
    return late;
  });
  const rest = { seconds: 5, promptTokensPerSecond: 0, generatedTokensPerSecond: 0 };
  return [
    ...busy,
    ...Array.from({ length: rests }, (_, at) => ({ ...rest, watts: 119 + (at % 3) })),
  ];
}

test("tokens that are counted late do not change the costs where the server rested", () => {
  const [resting, busy] = [splitEnergy(countedLate(50, 5)), splitEnergy(countedLate(50, 0))];
  if ("absent" in resting || "absent" in busy) throw new Error("BUG: no split");
  expect(resting.idleWatts.value).toBe(120);
  for (const [found, wanted] of [
    [resting.joulesPerPromptToken, truth.prompt],
    [resting.joulesPerGeneratedToken, truth.generated],
  ] as const)
    expect(Math.abs(found.value / wanted - 1)).toBeLessThan(0.05);
  expect(busy.joulesPerGeneratedToken.value).toBeLessThan(0.95 * truth.generated);
  expect(busy.idleWatts.value).toBeGreaterThan(1.1 * truth.idle);
});

test("a long period is joined to longer intervals, in which late counting matters less", () => {
  const split = splitEnergy(countedLate(720, 0));
  if ("absent" in split) throw new Error(split.absent);
  expect(split.intervals).toBe(30);
  expect(Math.abs(split.joulesPerGeneratedToken.value / truth.generated - 1)).toBeLessThan(0.1);
});

test("one rest of several that held work does not change the idle power", () => {
  const all = countedLate(50, 5).map((one, at) => (at === 52 ? { ...one, watts: 400 } : one));
  const split = splitEnergy(all);
  if ("absent" in split) throw new Error(split.absent);
  expect(split.idleWatts.value).toBeLessThan(122);
});

test.each([
  ["too few intervals", intervals(19, 5, varied), "19 intervals"],
  ["no tokens at all", intervals(60, 5, () => [0, 0]), "prompt tokens hardly changed"],
  ["one steady rate", intervals(60, 5, (_, next) => [5_000, 900 * next()]), "prompt tokens hardly"],
  [
    "rates that rise and fall together",
    intervals(60, 5, (_, next) => {
      const load = next();
      return [10_000 * load, 1_000 * load + 5 * next()];
    }),
    "rose and fell together",
  ],
  [
    "power that has nothing to do with the tokens",
    intervals(60, 5, varied).map((one, at) => ({ ...one, watts: 300 + ((at * 37) % 60) })),
    "Power follows something else",
  ],
])("%s: cannot tell", (_, given, reason) => {
  expect(splitEnergy(given)).toEqual({ absent: expect.stringContaining(reason) as string });
});
