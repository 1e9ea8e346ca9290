/** Single figures over a subject's whole time: energy from its counters, throttling, peaks, margin to limits. */
import { statisticQuery } from "../../../../src/view/range-statistics.ts";
import { queryInstant } from "../../query/client.ts";
import type { Labels } from "../../query/columns.ts";
import type { SubjectGroup } from "./chosen-subjects.ts";
import { isOf, labelsOf, matcherOf } from "./metrics.ts";

export interface SubjectFacts {
  readonly joules?: number;
  /** The counter behind the energy. */
  readonly counter?: string;
  readonly peakWatts?: number;
  readonly limitWatts?: number;
  readonly hottestCelsius?: number;
  /** Smallest margin to the slowdown temperature. */
  readonly marginCelsius?: number;
  /** Share of the time with throttled clocks, by reason; only reasons that occurred. */
  readonly throttled?: readonly { readonly reason: string; readonly share: number }[];
}

type Key = Exclude<keyof SubjectFacts, "counter" | "throttled">;

/** `%` is replaced by the matchers, `$` by the range; `across` aggregates a host's GPUs. */
const figures: readonly {
  readonly key: Key;
  readonly query: string;
  readonly across: "sum" | "max" | "min";
  readonly counter?: string;
}[] = [
  {
    key: "joules",
    query: "increase(gpu_energy_joules_total{%}[$])",
    across: "sum",
    counter: "the device's own counter",
  },
  {
    key: "joules",
    query:
      "increase(gpu_energy_integrated_joules_total{%}[$]) unless on (host, uuid) increase(gpu_energy_joules_total{%}[$])",
    across: "sum",
    counter: "power added up by gpulse",
  },
  { key: "peakWatts", query: "max_over_time(gpu_power_watts{%}[$])", across: "sum" },
  { key: "limitWatts", query: "max_over_time(gpu_power_limit_watts{%}[$])", across: "sum" },
  { key: "hottestCelsius", query: "max_over_time(gpu_temperature_celsius{%}[$])", across: "max" },
  {
    key: "marginCelsius",
    query: "min_over_time(gpu_temperature_margin_celsius{%}[$])",
    across: "min",
  },
];

/** Facts of every member of every group, by its key. `toMs` is the end of the current range. */
export async function fetchSubjectFacts(
  groups: readonly SubjectGroup[],
  rangeMs: number,
  toMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SubjectFacts>> {
  const found = new Map<string, SubjectFacts>();
  await Promise.all(
    groups.map(async ({ kind, shiftMs, members }) => {
      const by = labelsOf(kind);
      const fill = (text: string): string =>
        text
          .replaceAll(
            "%",
            matcherOf(
              kind,
              members.map(({ subject }) => subject.name),
            ),
          )
          .replaceAll("$", `${Math.max(1, Math.round(rangeMs / 1_000))}s`);
      const ask = async (query: string) => queryInstant(query, toMs - shiftMs, signal);
      const add = (labels: Labels, key: Key, value: number, counter?: string): void => {
        for (const member of members) {
          if (!isOf(member.subject, labels)) continue;
          const before = found.get(member.key);
          // A host may have GPUs with and without an energy counter: their energy is added up.
          const earlierJoules = key === "joules" ? before?.joules : undefined;
          const from =
            earlierJoules === undefined ? counter : `${before?.counter ?? ""} and ${counter ?? ""}`;
          found.set(member.key, {
            ...before,
            [key]: value + (earlierJoules ?? 0),
            ...(from === undefined ? {} : { counter: from }),
          });
        }
      };
      const inner = (query: string, across: string): string =>
        `${across} by (${by}) (max by (host, uuid) (${fill(query)}))`;
      const answers = await Promise.all([
        ask(
          `avg by (${by}, reason) (${statisticQuery("avg", fill("gpu_throttle_active{%}"), rangeMs)})`,
        ),
        ...figures.map(async ({ query, across }) => ask(inner(query, across))),
      ]);
      figures.forEach(({ key, counter }, at) => {
        for (const { labels, value } of answers[at + 1]?.samples ?? [])
          if (!Number.isNaN(value)) add(labels, key, value, counter);
      });
      for (const { key, subject } of members) {
        const own = (answers[0]?.samples ?? []).filter(({ labels }) => isOf(subject, labels));
        if (own.length === 0) continue;
        const throttled = own
          .flatMap(({ labels, value }) =>
            value > 0
              ? [{ reason: (labels["reason"] ?? "").replaceAll("_", " "), share: value }]
              : [],
          )
          .sort((one, other) => other.share - one.share);
        found.set(key, { ...found.get(key), throttled });
      }
    }),
  );
  return found;
}
