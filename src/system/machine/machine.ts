/** Where a machine's files are, and how facts are taken from them: a value, or a line in the list of what is missing. */
import type { FileDoor } from "../../sysfs/door.ts";
import { readText } from "../../sysfs/read.ts";
import type { Reading } from "../../sysfs/reading.ts";
import type { MissingFact } from "../snapshot/snapshot.ts";

export interface Machine {
  readonly procfs: string;
  readonly sysfs: string;
  readonly door: FileDoor;
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

export class Missing {
  readonly list: MissingFact[] = [];

  /** The value; where there is none, it is noted why. */
  take<T>(fact: string, reading: Reading<T>): T | undefined {
    if (reading.ok) return reading.value;
    this.note(fact, reading.reason);
    return undefined;
  }

  note(fact: string, reason: string): void {
    this.list.push({ fact, reason });
  }
}

/** What is there, under its name; nothing where it is not. Spread into a fact. */
export function known<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [Key in Name]?: Value } {
  // One computed key: TypeScript widens it to any name.
  return value === undefined ? {} : ({ [name]: value } as { readonly [Key in Name]?: Value });
}

/** The first line of a file that is text for people; undefined where it is empty or says nothing. */
export async function lineOf(machine: Machine, path: string): Promise<string | undefined> {
  const text = await readText(path, 1_024, machine.door);
  const line = text.ok ? (text.value.split("\n", 1)[0] ?? "").trim() : "";
  const says = line
    .replace(/\p{Cc}/gu, "")
    .replace(/\s+/g, " ")
    .slice(0, 200);
  return says === "" ||
    /^(?:none|n\/a|unknown|to be filled by o\.?e\.?m\.?|default string|not specified)$/i.test(says)
    ? undefined
    : says;
}
