/** Checks whether the subjects are comparable. Incomparable metrics are refused; possible pitfalls become warnings. */
import { type Figures, secondsOf } from "./figures.ts";
import { FEWEST_REPEATS } from "./interval.ts";
import type { Metric } from "./metrics.ts";
import type { RunSeries, ComparisonSubject } from "./series.ts";

export interface Caveat {
  /** `refused`: the values are listed, but no difference is reported. */
  readonly level: "refused" | "warning" | "note";
  readonly code: string;
  readonly sentence: string;
  /** The affected metrics; all if absent. */
  readonly metrics?: readonly string[];
}

const FAR_THROTTLE = 0.05;
const FAR_ENERGIES = 0.03;

export interface SubjectWithFigures {
  readonly subject: ComparisonSubject;
  readonly figures: readonly Figures[];
}

export function caveatsOf(
  all: readonly SubjectWithFigures[],
  metrics: readonly Metric[],
): readonly Caveat[] {
  const subjects = all.map(({ subject }) => subject);
  return [
    ...powerKinds(subjects, metrics),
    ...simulated(subjects),
    ...workUnits(subjects, metrics),
    ...doubts(subjects),
    ...visibility(subjects),
    ...repeats(subjects),
    ...sampling(subjects),
    ...throttled(all),
    ...gpuCounts(subjects),
    ...amounts(subjects),
    ...energies(all),
    ...boards(subjects),
  ];
}

const needing = (metrics: readonly Metric[], what: "power" | "work"): readonly string[] =>
  metrics.filter(({ needs }) => needs.includes(what)).map(({ key }) => key);

/** The distinct values over the subject's runs, in the order of first appearance. */
const distinctValues = (
  subject: ComparisonSubject,
  of: (run: RunSeries) => readonly string[],
): readonly string[] => [...new Set(subject.runs.flatMap(of))];

function each(
  subjects: readonly ComparisonSubject[],
  of: (run: RunSeries) => readonly string[],
): string {
  return subjects
    .map((one) => `${one.name}: ${distinctValues(one, of).join(" and ") || "none"}`)
    .join(", ");
}

function* powerKinds(
  subjects: readonly ComparisonSubject[],
  metrics: readonly Metric[],
): Generator<Caveat> {
  const kinds = (run: RunSeries) =>
    run.gpus.flatMap(({ power }) => (power === "none" ? [] : [power]));
  if (new Set(subjects.flatMap((one) => distinctValues(one, kinds))).size > 1)
    yield {
      level: "refused",
      code: "power-kind",
      metrics: needing(metrics, "power"),
      sentence: `Power is not compared: one is of the whole board and the other of the chip alone, without memory and regulators (${each(subjects, kinds)}).`,
    };
}

function* simulated(subjects: readonly ComparisonSubject[]): Generator<Caveat> {
  const kinds = (run: RunSeries) => run.gpus.map((gpu) => (gpu.simulated ? "simulated" : "real"));
  const found = new Set(subjects.flatMap((one) => distinctValues(one, kinds)));
  if (found.size > 1)
    yield {
      level: "refused",
      code: "simulated",
      sentence: `Nothing is compared: a simulated card beside a real one says nothing of either (${each(subjects, kinds)}).`,
    };
  else if (found.has("simulated"))
    yield { level: "note", code: "simulated-all", sentence: "All of these GPUs are simulated." };
}

function* workUnits(
  subjects: readonly ComparisonSubject[],
  metrics: readonly Metric[],
): Generator<Caveat> {
  const units = (run: RunSeries) => ("why" in run.work ? [] : [run.work.unit]);
  if (new Set(subjects.flatMap((one) => distinctValues(one, units))).size > 1)
    yield {
      level: "refused",
      code: "work-unit",
      metrics: needing(metrics, "work"),
      sentence: `Work is not compared: it is counted in different units (${each(subjects, units)}).`,
    };
}

function* doubts(subjects: readonly ComparisonSubject[]): Generator<Caveat> {
  for (const { name, runs } of subjects)
    for (const run of runs)
      for (const doubt of run.doubts)
        yield {
          level: "warning",
          code: "doubt",
          sentence: `${name}, ${run.name}: ${doubt}`,
        };
}

/** Parts of the machine that only one side could read, as inside a container: neither equal nor different. */
function* visibility(subjects: readonly ComparisonSubject[]): Generator<Caveat> {
  const views = subjects.map(({ name, runs }) => {
    const parts = runs.flatMap((run) => run.visibility ?? []);
    return { name, of: (part: string) => parts.filter((one) => one.part === part) };
  });
  const all = subjects.flatMap(({ runs }) => runs.flatMap((run) => run.visibility ?? []));
  for (const part of new Set(all.map((one) => one.part))) {
    const seen = views.filter(({ of }) => of(part).some(({ state }) => state === "seen"));
    const lacking = views.flatMap(({ name, of }) => {
      const [worst] = of(part)
        .filter(({ state }) => state === "unseen" || state === "partly")
        .toSorted((one, other) => (one.state > other.state ? -1 : 1));
      return worst === undefined ? [] : [{ name, ...worst }];
    });
    const others = seen.filter(({ name }) => lacking.every((one) => one.name !== name));
    if (others.length === 0 || lacking.length === 0) continue;
    yield {
      level: "warning",
      code: "visibility",
      sentence: `Only one side saw all of its ${part}: ${others.map(({ name, of }) => `${name} did (${of(part)[0]?.detail ?? ""})`).join(", ")}, ${lacking.map(({ name, state, detail }) => `${name} ${state === "partly" ? "in part" : "not"} (${detail})`).join(", ")}.`,
    };
  }
}

function* repeats(subjects: readonly ComparisonSubject[]): Generator<Caveat> {
  const few = subjects.filter(({ runs }) => runs.length < FEWEST_REPEATS);
  if (few.length > 0)
    yield {
      level: "warning",
      code: "repeats",
      sentence: `Too few repeats to tell a difference from noise: ${few.map(({ name, runs }) => `${name} has ${runs.length}`).join(", ")}; record at least ${FEWEST_REPEATS} of each, better 5.`,
    };
}

function* sampling(subjects: readonly ComparisonSubject[]): Generator<Caveat> {
  const all = subjects.flatMap(({ runs }) => runs.map(({ samplingMs }) => samplingMs));
  if (Math.max(...all) > 1.5 * Math.min(...all))
    yield {
      level: "warning",
      code: "sampling",
      sentence: `Sampled at different rates (${each(subjects, (run) => [`every ${run.samplingMs} ms`])}): means compare, percentiles and peaks do not.`,
    };
}

function* throttled(all: readonly SubjectWithFigures[]): Generator<Caveat> {
  const shares = all.map(({ figures }) => {
    const most = figures.map((one) =>
      Math.max(
        0,
        ...[...one].flatMap(([key, { value }]) =>
          key.startsWith("throttle.") && "value" in value ? [value.value] : [],
        ),
      ),
    );
    return most.reduce((sum, share) => sum + share, 0) / Math.max(1, most.length);
  });
  if (Math.max(...shares) - Math.min(...shares) > FAR_THROTTLE)
    yield {
      level: "warning",
      code: "throttled",
      sentence: `Clocks were held down for different shares of the time (${all.map(({ subject }, at) => `${subject.name}: ${Math.round(100 * (shares[at] ?? 0))} %`).join(", ")}): a limit is compared, not the cards alone.`,
    };
}

function* gpuCounts(subjects: readonly ComparisonSubject[]): Generator<Caveat> {
  const counts = (run: RunSeries) => [`${run.gpus.length} GPU${run.gpus.length === 1 ? "" : "s"}`];
  if (new Set(subjects.flatMap((one) => distinctValues(one, counts))).size > 1)
    yield {
      level: "warning",
      code: "gpu-count",
      sentence: `Different numbers of GPUs (${each(subjects, counts)}): power, energy and memory are sums.`,
    };
}

function* amounts(subjects: readonly ComparisonSubject[]): Generator<Caveat> {
  const sums = subjects.flatMap(({ runs }) =>
    runs.map((run) => ({
      seconds: secondsOf(run),
      work: "why" in run.work ? undefined : run.work.amount,
    })),
  );
  const apart = (values: readonly number[]): boolean =>
    values.length > 1 && Math.max(...values) > 1.02 * Math.min(...values);
  const works = sums.flatMap(({ work }) => work ?? []);
  if (works.length === sums.length ? apart(works) : apart(sums.map(({ seconds }) => seconds)))
    yield {
      level: "note",
      code: "amount",
      metrics: ["duration", "energyCounter", "energyIntegrated"],
      sentence:
        works.length === sums.length
          ? "The runs did different amounts of work: duration and energy are of different things, throughput and work per joule are not."
          : "The runs have different durations and no work count: their energies are not comparable.",
    };
}

/**
 * Compares energies over all runs of a subject: a counter read every few seconds errs at the ends of each run, which evens out.
 */
function* energies(all: readonly SubjectWithFigures[]): Generator<Caveat> {
  for (const { subject, figures } of all) {
    let [counted, added] = [0, 0];
    for (const one of figures) {
      const [counter, sum] = [one.get("energyCounter")?.value, one.get("energyIntegrated")?.value];
      if (counter === undefined || sum === undefined || "why" in counter || "why" in sum) continue;
      counted += counter.value;
      added += sum.value;
    }
    const apart = Math.abs(counted / added - 1);
    if (apart > FAR_ENERGIES && Number.isFinite(apart))
      yield {
        level: "warning",
        code: "energy",
        metrics: ["energyCounter", "energyIntegrated", "perJoule"],
        sentence: `${subject.name}: the device's energy counter and its power readings are ${(100 * apart).toFixed(1)} % apart.`,
      };
  }
}

/** Repeats reveal noise, but not the constant error of a board's sensor. */
function* boards(subjects: readonly ComparisonSubject[]): Generator<Caveat> {
  const uuids = (run: RunSeries) => run.gpus.map(({ uuid }) => uuid).sort();
  const real = subjects.some(({ runs }) => runs.some(({ gpus }) => gpus.some((g) => !g.simulated)));
  if (real && new Set(subjects.map((one) => distinctValues(one, uuids).join())).size > 1)
    yield {
      level: "note",
      code: "sensors",
      sentence:
        "Power is by each device's own sensor, not measured at the wall: what a sensor is always off by is part of the difference between two boards, and no number of repeats shows it.",
    };
}
