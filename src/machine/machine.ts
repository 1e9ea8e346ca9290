/** Where a machine's files are, and how facts are taken from them: a value, or a line in the list of what is missing. */
import type { AbsenceReason } from "../model/presence.ts";
import type { FileAccess } from "./sysfs/file-access.ts";
import { readText } from "./sysfs/read.ts";
import { type ReadResult, present, unsupported } from "./sysfs/read-result.ts";
import type { MissingFact } from "./snapshot.ts";

export interface Machine {
  readonly procfs: string;
  readonly sysfs: string;
  readonly fileAccess: FileAccess;
  /** The processor's instruction set as the system calls it. */
  readonly architecture: string;
  /** Only the variables that narrow which GPUs are seen are looked at. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The root of the machine's own files: another /proc is another machine's (a container that mounts its host's). */
export const rootOf = ({ procfs }: Machine): string =>
  procfs === "/proc" ? "" : `${procfs}/1/root`;

/** Whose limits count: this process's own; where the machine is looked at from outside, those of its first process. */
export const processOf = ({ procfs }: Machine): string =>
  `${procfs}/${procfs === "/proc" ? "self" : "1"}`;

/** Why a fact is absent: a reading's reason, or `not-read` where no reading had arrived when the snapshot was taken. */
export type MissingReason = AbsenceReason | "not-read";

export class MissingFacts {
  readonly #reasons = new Map<string, MissingReason>();

  list(): MissingFact[] {
    return [...this.#reasons]
      .map(([fact, reason]) => ({ fact, reason }))
      .toSorted((a, b) => (a.fact < b.fact ? -1 : 1));
  }

  /** The value; where there is none, it is noted why. */
  take<T>(fact: string, reading: ReadResult<T>): T | undefined {
    if (reading.ok) return reading.value;
    this.note(fact, reading.reason);
    return undefined;
  }

  /** The same for a fact that many machines do not have: only a file that exists and cannot be read is noted. */
  optional<T>(fact: string, reading: ReadResult<T>): T | undefined {
    if (reading.ok) return reading.value;
    if (reading.reason !== "unsupported") this.note(fact, reading.reason);
    return undefined;
  }

  /** The first reason for a fact wins: it comes from the reader that tried. */
  note(fact: string, reason: MissingReason): void {
    if (!this.#reasons.has(fact)) this.#reasons.set(fact, reason);
  }
}

/** What is there, under its name; nothing where it is not. Spread into a fact. */
export function optionalFact<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [Key in Name]?: Value } {
  // One computed key: TypeScript widens it to any name.
  return value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]?: Value });
}

/** The first line of a file that is text for people; `unsupported` where it is empty or a placeholder. */
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
