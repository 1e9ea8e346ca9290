/** The question "What changed here?": its subject and its time. Stored in the address, so that a link shows the same result. */
import { changeSubjectKinds, type ChangeSubjectKind } from "../../../src/view/changes/subject.ts";
import type { Labels } from "../query/columns.ts";
import { type Codec, Param } from "../view-state/param.ts";
import { readInstant, type TimeWindow, writeInstant } from "../view-state/range.ts";

export interface ChangeSubject {
  readonly kind: ChangeSubjectKind;
  readonly id: string;
}

export interface ChangesQuestion extends ChangeSubject, TimeWindow {}

/** `2026-11-01T12:00:00Z,2026-11-01T12:30:00Z,gpu,GPU-1@node-1`. The id comes last because it may contain any character. */
const codec: Codec<ChangesQuestion | undefined> = {
  read(text) {
    const [from = "", to = "", given = "", ...rest] = (text ?? "").split(",");
    const [fromMs, toMs, id] = [readInstant(from), readInstant(to), rest.join(",")];
    const kind = changeSubjectKinds.find((one) => one === given);
    if (fromMs === undefined || toMs === undefined || kind === undefined || id === "")
      return undefined;
    return { kind, id, fromMs, toMs };
  },
  write: (asked) =>
    asked === undefined
      ? undefined
      : [writeInstant(asked.fromMs), writeInstant(asked.toMs), asked.kind, asked.id].join(","),
};

export const changesQuestion = new Param("changed", codec, "push");

export function askForChanges({ kind, id }: ChangeSubject, { fromMs, toMs }: TimeWindow): void {
  changesQuestion.value = { kind, id, fromMs: Math.round(fromMs), toMs: Math.round(toMs) };
}

/** Returns the one GPU or machine that all lines belong to; undefined if there are several or none. */
export function changeSubjectOf(all: readonly (Labels | undefined)[]): ChangeSubject | undefined {
  const [first] = all;
  const host = first?.["host"];
  if (host === undefined || all.some((labels) => labels?.["host"] !== host)) return undefined;
  const uuid = first?.["uuid"];
  if (all.some((labels) => labels?.["uuid"] !== uuid)) return undefined;
  return uuid === undefined ? { kind: "host", id: host } : { kind: "gpu", id: `${uuid}@${host}` };
}
