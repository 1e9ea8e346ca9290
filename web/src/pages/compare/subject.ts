/** The subjects of a comparison: GPUs and hosts, each in the current range or at a time of its own, encoded in the address. Pure. */
import type { Codec } from "../../view-state/param.ts";
import { readDuration, writeDuration } from "../../view-state/range.ts";

/** A time other than the current range, with the same length: shifted back, or from an instant on. */
export type SubjectTime =
  | { readonly kind: "earlier"; readonly ms: number }
  | { readonly kind: "from"; readonly ms: number };

export interface CompareSubject {
  readonly kind: "gpu" | "host";
  /** `UUID@HOST` (or a uuid alone), or a host's name. */
  readonly name: string;
  /** Undefined for the current range. */
  readonly when: SubjectTime | undefined;
}

/** More subjects are unreadable in a chart. */
export const MOST_SUBJECTS = 8;

/** `UUID`, `UUID@HOST`, and either with `@-24h` or `@2026-01-31T14:00:00Z`; an invalid time means the current range. */
export function readSubject(kind: CompareSubject["kind"], text: string): CompareSubject {
  const at = text.lastIndexOf("@");
  const when = at <= 0 ? undefined : readWhen(text.slice(at + 1));
  if (/@(?:-[^@]*)?$/.test(text)) return { kind, name: text.slice(0, at), when };
  return when === undefined ? { kind, name: text, when } : { kind, name: text.slice(0, at), when };
}

export function readWhen(text: string): SubjectTime | undefined {
  if (text.startsWith("-")) {
    const ms = readDuration(text.slice(1));
    return ms === undefined ? undefined : { kind: "earlier", ms };
  }
  // Date.parse accepts names such as node-1 as dates.
  const ms = /^\d{4}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : { kind: "from", ms };
}

export function writeSubject({ name, when }: CompareSubject): string {
  if (when === undefined) return name;
  const text =
    when.kind === "earlier"
      ? `-${writeDuration(when.ms)}`
      : new Date(when.ms).toISOString().replace(".000Z", "Z");
  return `${name}@${text}`;
}

export const subjectKey = (subject: CompareSubject): string =>
  `${subject.kind} ${writeSubject(subject)}`;

export const subjectsCodec = (kind: CompareSubject["kind"]): Codec<readonly CompareSubject[]> => ({
  read: (given) =>
    [...new Set((given ?? "").split(",").filter((part) => part !== ""))]
      .slice(0, MOST_SUBJECTS)
      .map((part) => readSubject(kind, part)),
  write: (subjects) => {
    const text = subjects.map(writeSubject).join(",");
    return text === "" ? undefined : text;
  },
});

/** Shift of a subject's time before the current range, in whole steps, so that its points coincide with those of the others. */
export function shiftMsOf(when: SubjectTime | undefined, fromMs: number, stepMs: number): number {
  if (when === undefined) return 0;
  const ms = when.kind === "earlier" ? when.ms : fromMs - when.ms;
  return Math.round(ms / stepMs) * stepMs;
}
