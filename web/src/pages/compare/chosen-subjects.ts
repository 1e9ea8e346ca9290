/** The selected subjects for the page: with name, colour and time shift. */
import { gpuColour } from "../../chart/colour.ts";
import { findGpu, type Gpu, shortModel, uuidPrefix } from "../../../../src/view/gpu.ts";
import { formatInstant, writeDuration } from "../../view-state/range.ts";
import { type CompareSubject, shiftMsOf, subjectKey, type SubjectTime } from "./subject.ts";

export interface ChosenSubject {
  readonly key: string;
  readonly subject: CompareSubject;
  readonly label: string;
  /** Additional information: host, uuid. */
  readonly more: string;
  readonly colour: string;
  /** Shift of the subject's time before the current range. */
  readonly shiftMs: number;
}

export function toChosenSubjects(
  subjects: readonly CompareSubject[],
  known: readonly Gpu[],
  fromMs: number,
  stepMs: number,
): readonly ChosenSubject[] {
  const hosts = new Set(
    subjects.flatMap(({ kind, name }) =>
      kind === "gpu" ? (findGpu(known, name)?.device.host ?? []) : [],
    ),
  );
  const hues = [...new Set(subjects.map(({ kind, name }) => `${kind} ${name}`))];
  return subjects.map((subject) => {
    const { kind, name, when } = subject;
    const device = kind === "gpu" ? findGpu(known, name)?.device : undefined;
    const model = device === undefined ? undefined : `${shortModel(device)} #${device.index}`;
    const named =
      model === undefined ? name : hosts.size > 1 ? `${model} on ${device?.host ?? ""}` : model;
    return {
      key: subjectKey(subject),
      subject,
      label: when === undefined ? named : `${named}, ${formatWhen(when)}`,
      more: device === undefined ? kind : `${device.host} · ${uuidPrefix(device)}`,
      // The same GPU at another time keeps its hue and is dashed.
      colour: gpuColour(hues.indexOf(`${kind} ${name}`)),
      shiftMs: shiftMsOf(when, fromMs, stepMs),
    };
  });
}

const formatWhen = (when: SubjectTime): string =>
  when.kind === "earlier"
    ? `${writeDuration(when.ms)} earlier`
    : `from ${formatInstant(when.ms).slice(0, 16)}`;

export interface SubjectGroup {
  readonly kind: CompareSubject["kind"];
  readonly shiftMs: number;
  readonly members: readonly ChosenSubject[];
}

/** Groups the subjects that one query can read: the same kind at the same time. */
export function groupSubjects(all: readonly ChosenSubject[]): readonly SubjectGroup[] {
  const groups = new Map<
    string,
    { kind: CompareSubject["kind"]; shiftMs: number; members: ChosenSubject[] }
  >();
  for (const one of all) {
    const { kind } = one.subject;
    const key = `${kind} ${one.shiftMs}`;
    const group = groups.get(key) ?? { kind, shiftMs: one.shiftMs, members: [] };
    group.members.push(one);
    groups.set(key, group);
  }
  return [...groups.values()];
}
