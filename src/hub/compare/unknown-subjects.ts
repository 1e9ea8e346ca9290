/** GPUs and hosts that never appear in the history: distinguishes a misspelled name from a subject that was silent. */
import { labelValue, type LabelSet } from "../../model/labels.ts";
import type { Queryable } from "../../model/select.ts";
import { PrometheusApiError } from "../api/failure.ts";
import type { LiveSubject } from "./live.ts";
import { isOfHost } from "./work.ts";

/** How far back to search: as long as users keep data they compare with. */
const HISTORY_MS = 365 * 24 * 3_600_000;
/** A longer list of names is of no use in an error message. */
const MOST_NAMES = 20;

/** @throws PrometheusApiError not_found with the known names. */
export async function rejectUnknownSubjects(
  subjects: readonly LiveSubject[],
  history: Pick<Queryable, "series">,
  nowMs: number,
): Promise<void> {
  const fromMs = Math.min(nowMs - HISTORY_MS, ...subjects.map((one) => one.fromMs));
  const toMs = Math.max(nowMs, ...subjects.map((one) => one.toMs));
  const series = async (name: string, value?: string): Promise<readonly LabelSet[]> => {
    const matcher = {
      name: "__name__",
      op: "=~",
      value: value === undefined ? "gpu_info" : "gpu_.+",
    } as const;
    const own = value === undefined ? [] : [{ name, op: "=", value } as const];
    return history.series([[...own, matcher]], fromMs, toMs);
  };
  for (const subject of subjects) {
    const { kind, name, host } = subject;
    const label = kind === "gpu" ? "uuid" : "host";
    const found = await series(label, name);
    if (found.some((labels) => isOfHost(subject, labels))) continue;
    const known = (await series(label)).flatMap((labels) => describe(kind, labels));
    throw new PrometheusApiError(
      "not_found",
      `There is no ${kind === "gpu" ? "GPU" : "host"} ${JSON.stringify(name.slice(0, 100))}${host === undefined ? "" : ` on ${JSON.stringify(host.slice(0, 100))}`}. ${listOf(kind, [...new Set(known)].sort())}`,
    );
  }
}

function describe(kind: LiveSubject["kind"], labels: LabelSet): readonly string[] {
  const [uuid, host] = [labelValue(labels, "uuid"), labelValue(labels, "host")];
  if (kind === "host") return host === undefined ? [] : [host];
  return uuid === undefined
    ? []
    : [`${uuid} (${labelValue(labels, "model") ?? "GPU"} on ${host ?? "an unknown host"})`];
}

function listOf(kind: LiveSubject["kind"], names: readonly string[]): string {
  const what = kind === "gpu" ? "GPUs" : "hosts";
  if (names.length === 0) return `The hub has no ${what} in its history.`;
  const more = names.length - MOST_NAMES;
  return `Known ${what}: ${names.slice(0, MOST_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
}
