/** Paths of a machine's files, and how facts are collected from them: as a value, or as an entry in the list of missing facts. */
import type { AbsenceReason } from "../model/presence.ts";
import type { FileAccess } from "./sysfs/file-access.ts";
import { readText } from "./sysfs/read.ts";
import { type ReadResult, present, unsupported } from "./sysfs/read-result.ts";
import type { MissingFact } from "./snapshot.ts";

export interface Machine {
  readonly procfs: string;
  readonly sysfs: string;
  readonly fileAccess: FileAccess;
  /** The processor's instruction set by the operating system's name. */
  readonly architecture: string;
  /** Only the variables that limit the visible GPUs are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The root of the machine's files. Another /proc means another machine (a container that mounts its host's). */
export const rootOf = ({ procfs }: Machine): string =>
  procfs === "/proc" ? "" : `${procfs}/1/root`;

/** The process whose limits apply: this one, or the first process of a machine that is read from outside. */
export const processOf = ({ procfs }: Machine): string =>
  `${procfs}/${procfs === "/proc" ? "self" : "1"}`;

/** Why a fact is absent: a reading's reason, or `not-read` if no reading had arrived when the snapshot was taken. */
export type MissingReason = AbsenceReason | "not-read";

export class MissingFacts {
  readonly #reasons = new Map<string, MissingReason>();

  list(): MissingFact[] {
    return [...this.#reasons]
      .map(([fact, reason]) => ({ fact, reason }))
      .toSorted((a, b) => (a.fact < b.fact ? -1 : 1));
  }

  /** Returns the value; records the reason if there is none. */
  take<T>(fact: string, reading: ReadResult<T>): T | undefined {
    if (reading.ok) return reading.value;
    this.note(fact, reading.reason);
    return undefined;
  }

  /** The same for a fact that many machines lack: only a file that exists but cannot be read is recorded. */
  optional<T>(fact: string, reading: ReadResult<T>): T | undefined {
    if (reading.ok) return reading.value;
    if (reading.reason !== "unsupported") this.note(fact, reading.reason);
    return undefined;
  }

  /** The first reason for a fact wins: it comes from the code that read it. */
  note(fact: string, reason: MissingReason): void {
    if (!this.#reasons.has(fact)) this.#reasons.set(fact, reason);
  }
}

/** An object with the value under its name, or an empty object if it is undefined; to be spread into a fact. */
export function optionalFact<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [Key in Name]?: Value } {
  // TypeScript widens a computed key to any string, so the type is asserted.
  return value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]?: Value });
}

/** The first line of a text file; `unsupported` if it is empty or a placeholder. */
export async function lineOf(machine: Machine, path: string): Promise<ReadResult<string>> {
  const text = await readText(path, 1_024, machine.fileAccess);
  if (!text.ok) return text;
  const line = (text.value.split("\n", 1)[0] ?? "")
    .trim()
    .replace(/\p{Cc}/gu, "")
    .replace(/\s+/g, " ")
    .slice(0, 200);
  return line === "" ||
    /^(?:none|n\/a|unknown|to be filled by o\.?e\.?m\.?|default string|not specified)$/i.test(line)
    ? unsupported
    : present(line);
}
