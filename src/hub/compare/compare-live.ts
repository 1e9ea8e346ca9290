/** Compares what the history has of GPUs, hosts and times: the same maths as for recorded runs, over stretches of the range. */
import type { Comparison } from "../../analytics/compare/compare.ts";
import { compare } from "../../analytics/compare/compare.ts";
import { tooClose, windowsOf } from "../../analytics/compare/windows.ts";
import type { LiveOptions, LiveSubject, Watched } from "./live.ts";
import { watch } from "./live.ts";

export async function compareLive(
  subjects: readonly LiveSubject[],
  options: LiveOptions & {
    /** What to call them, in their order; those without a name get one. */
    readonly names?: readonly string[];
  },
): Promise<Comparison> {
  const watched = await Promise.all(subjects.map((subject) => watch(subject, options)));
  const paired =
    new Set(subjects.map(({ fromMs, toMs }) => `${fromMs} ${toMs}`)).size === 1 &&
    subjects.length > 1;
  const names = namesOf(subjects, watched);
  const wholes = watched.map(({ whole, workIn }) => ({
    ...whole,
    work: workIn(whole.startMs, whole.endMs),
  }));
  return compare(
    watched.map(({ whole, workIn }, at) => ({
      name: options.names?.[at] ?? names[at] ?? whole.name,
      runs: windowsOf(whole, workIn).map((run, window) =>
        // What is doubtful of the whole is told once, not once a stretch.
        window === 0 ? run : { ...run, doubts: [] },
      ),
    })),
    {
      basis: "windows",
      paired,
      wholes,
      untold: (metric) => tooClose(metric, wholes, paired),
      caveats: [
        {
          level: "note",
          code: "watched",
          sentence:
            "These are readings of one stretch of time: a verdict says how sure its means are, not what another card or another day would give. Record repeats with gpulse run for that.",
        },
      ],
    },
  );
}

/** As short as tells them apart: the model, then where, then which, then when. */
function namesOf(subjects: readonly LiveSubject[], watched: readonly Watched[]): readonly string[] {
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
