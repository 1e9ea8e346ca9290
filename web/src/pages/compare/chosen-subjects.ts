/** The chosen subjects as the page shows them: named, coloured, and with how far each is shifted in time. */
import { gpuColour } from "../../chart/colour.ts";
import type { Gpu } from "../../live/gpu.ts";
import { findGpu, shortModel, uuidPrefix } from "../../live/gpu.ts";
import { sayInstant, writeDuration } from "../../view-state/range.ts";
import type { Subject, When } from "./subject.ts";
import { shiftMsOf, subjectKey } from "./subject.ts";

export interface Compared {
  readonly key: string;
  readonly subject: Subject;
  readonly label: string;
  /** What more there is to say: host, uuid. */
  readonly more: string;
  readonly colour: string;
  /** How far before the time in view its own lies. */
  readonly shiftMs: number;
}

export function comparedOf(
  subjects: readonly Subject[],
  known: readonly Gpu[],
  fromMs: number,
  stepMs: number,
): readonly Compared[] {
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
      label: when === undefined ? named : `${named}, ${sayWhen(when)}`,
      more: device === undefined ? kind : `${device.host} · ${uuidPrefix(device)}`,
      // The same GPU in another time keeps its hue and is dashed: what differs is the time.
      colour: gpuColour(hues.indexOf(`${kind} ${name}`)),
      shiftMs: shiftMsOf(when, fromMs, stepMs),
    };
  });
}

export const sayWhen = (when: When): string =>
  when.kind === "earlier"
    ? `${writeDuration(when.ms)} earlier`
    : `from ${sayInstant(when.ms).slice(0, 16)}`;

export interface Group {
  readonly kind: Subject["kind"];
  readonly shiftMs: number;
  readonly members: readonly Compared[];
}

/** Those that one query can ask for together: the same kind in the same time. */
export function groupsOf(all: readonly Compared[]): readonly Group[] {
  const groups = new Map<string, { kind: Subject["kind"]; shiftMs: number; members: Compared[] }>();
  for (const one of all) {
    const { kind } = one.subject;
    const key = `${kind} ${one.shiftMs}`;
    const group = groups.get(key) ?? { kind, shiftMs: one.shiftMs, members: [] };
    group.members.push(one);
    groups.set(key, group);
  }
  return [...groups.values()];
}
