/** What is compared: GPUs and hosts, each in the time in view or in one of its own, as the address writes them. Pure. */
import type { Codec } from "../../view-state/param.ts";
import { readDuration, writeDuration } from "../../view-state/range.ts";

/** Another time than the one in view, as long as that: so much earlier, or from an instant on. */
export type SubjectTime =
  | { readonly kind: "earlier"; readonly ms: number }
  | { readonly kind: "from"; readonly ms: number };

export interface CompareSubject {
  readonly kind: "gpu" | "host";
  /** `UUID@HOST` (or a uuid alone), or a host's name. */
  readonly name: string;
  /** Undefined: the time in view. */
  readonly when: SubjectTime | undefined;
}

/** More are a scribble in every chart. */
export const MOST_SUBJECTS = 8;

/** `UUID`, `UUID@HOST`, and either with `@-24h` or `@2026-01-31T14:00:00Z`; a time that cannot be read counts as the time in view. */
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
  // Date.parse takes names such as node-1 for dates.
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

/** How far before the time in view a subject's own lies, in whole steps, so that its points meet those of the others. */
export function shiftMsOf(when: SubjectTime | undefined, fromMs: number, stepMs: number): number {
  if (when === undefined) return 0;
  const ms = when.kind === "earlier" ? when.ms : fromMs - when.ms;
  return Math.round(ms / stepMs) * stepMs;
}
