/** Whose work a query tells: a series counts for a subject only by its own label, never by a guess. Pure. */
import type { Matrix } from "../../query/columns.ts";
import type { Subject } from "./subject.ts";

export type WorkFound = { readonly values: Float64Array } | { readonly why: string };

export const NO_WORK = "no work counter given";

/** The sum of the series that carry the subject's uuid or host. */
export function workOf({ kind, name }: Subject, matrix: Matrix | undefined): WorkFound {
  if (matrix === undefined) return { why: NO_WORK };
  const label = kind === "gpu" ? "uuid" : "host";
  if (matrix.series.length === 0) return { why: "the work query has no result in this range" };
  const own = matrix.series.filter(({ labels }) => labels[label] === name);
  if (own.length === 0) {
    const labelled = matrix.series.some(({ labels }) => labels[label] !== undefined);
    return {
      why: labelled
        ? `the work query tells nothing of this ${kind === "gpu" ? "GPU" : "host"}`
        : `the work query's series have no ${label} label`,
    };
  }
  const [first] = own;
  if (own.length === 1 && first !== undefined) return { values: first.values };
  const values = new Float64Array(first?.values.length ?? 0).fill(Number.NaN);
  for (const series of own)
    series.values.forEach((value, at) => {
      const before = values[at] ?? Number.NaN;
      if (!Number.isNaN(value)) values[at] = Number.isNaN(before) ? value : before + value;
    });
  return { values };
}
