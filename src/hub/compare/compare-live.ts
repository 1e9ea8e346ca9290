/** Compares GPUs, hosts and time ranges of the history with the same statistics as recorded runs, over windows of the range. */
import { compare, type Comparison } from "../../runs/compare/compare.ts";
import type { RunSeries } from "../../runs/compare/series.ts";
import { windowsOf } from "../../runs/compare/windows.ts";
import { coverageCaveats, coveredRanges } from "./coverage.ts";
import {
  type LiveOptions,
  type LiveSubject,
  readSubjectSeries,
  type SubjectSeries,
} from "./live.ts";

export async function compareLive(
  subjects: readonly LiveSubject[],
  options: LiveOptions & {
    /** Names of the subjects, in order; subjects without one get a generated name. */
    readonly names?: readonly string[];
  },
): Promise<Comparison> {
  const watched = await Promise.all(subjects.map((subject) => readSubjectSeries(subject, options)));
  const paired =
    new Set(subjects.map(({ fromMs, toMs }) => `${fromMs} ${toMs}`)).size === 1 &&
    subjects.length > 1;
  const found = namesOf(subjects, watched);
  const names = subjects.map(({ name }, at) => options.names?.[at] ?? found[at] ?? name);
  const covered = coveredRanges(
    watched.map(({ whole }) => whole),
    paired,
  );
  const wholes = watched.map(({ whole, workIn }, at): RunSeries => {
    const { startMs, endMs } = covered[at] ?? whole;
    return { ...whole, startMs, endMs, work: workIn(startMs, endMs) };
  });
  return compare(
    wholes.map((whole, at) => ({
      name: names[at] ?? whole.name,
      runs: windowsOf(whole, watched[at]?.workIn ?? (() => whole.work)).map((run, window) =>
        // Doubts about the whole range are reported once, not per window.
        window === 0 ? run : { ...run, doubts: [] },
      ),
    })),
    {
      basis: "windows",
      paired,
      wholes,
      caveats: [
        ...coverageCaveats(
          watched.map(({ whole }) => whole),
          covered,
          names,
        ),
        {
          level: "note",
          code: "watched",
          sentence:
            "These are readings of one period: a verdict is about its means, not about another card or another day. Record repeats with gpulse run for that.",
        },
      ],
    },
  );
}

/** The shortest distinguishing names: by model, then host, then uuid, then time. */
function namesOf(
  subjects: readonly LiveSubject[],
  watched: readonly SubjectSeries[],
): readonly string[] {
  const parts = subjects.map(({ kind, name, fromMs }, at) => {
    const gpu = watched[at]?.whole.gpus[0];
    const when = new Date(fromMs).toISOString().slice(0, 19).replace("T", " ");
    return kind === "host"
      ? [name, "", "", `from ${when}`]
      : [
          watched[at]?.model ?? name,
          gpu === undefined ? "" : `on ${gpu.host}`,
          name.slice(0, 12),
          `from ${when}`,
        ];
  });
  for (let depth = 1; depth <= 4; depth += 1) {
    const names = parts.map((own) =>
      own
        .slice(0, depth)
        .filter((text) => text !== "")
        .join(", "),
    );
    if (new Set(names).size === names.length) return names;
  }
  return parts.map((own, at) => `${own[0] ?? ""} #${at + 1}`);
}
