/** Explains the terms of GPU errors and slowdowns: throttle reasons, ECC and Xid. Pure. */
import { throttleBadge } from "./gpu-status.ts";
import { actionWords } from "./health/verdict.ts";
import { xidEntries } from "./health/xids.ts";

export interface DictionaryEntry {
  readonly term: string;
  readonly kind: "throttle reason" | "ECC" | "Xid";
  readonly meaning: string;
  /** Recommended action; absent if none is needed. */
  readonly action?: string;
}

const throttle = (reason: string, more: string, action?: string): DictionaryEntry => ({
  term: throttleBadge(reason).text,
  kind: "throttle reason",
  meaning: `${throttleBadge(reason).tip} ${more}`,
  ...(action === undefined ? {} : { action }),
});

const memory = (term: string, meaning: string, action?: string): DictionaryEntry => ({
  term,
  kind: "ECC",
  meaning,
  ...(action === undefined ? {} : { action }),
});

const fixedEntries: readonly DictionaryEntry[] = [
  throttle(
    "power_cap",
    "The board draws as much as its power limit allows, and lowers its clocks to stay there.",
  ),
  throttle(
    "power_brake",
    "An external signal (power supply or rack) requests half the clocks or less.",
    "Check the power supplies and their cables.",
  ),
  throttle(
    "thermal",
    "The driver keeps the GPU below its target temperature.",
    "Check fans, filters and the intake air.",
  ),
  throttle(
    "thermal_hardware",
    "The chip reached its slowdown temperature: clocks fall to a half or less at once.",
    "Drain the jobs and check the cooling now.",
  ),
  throttle("sync_boost", "GPUs of a sync-boost group run at one clock."),
  throttle(
    "clock_setting",
    "Locked or application clocks hold it there.",
    "Reset them if they are not intended: nvidia-smi -rgc and -rac.",
  ),
  memory(
    "ECC corrected",
    "One bit of memory was wrong and has been corrected. Results are right; many in an hour point to a failing row.",
  ),
  memory(
    "ECC uncorrected",
    "Two or more bits were wrong and could not be corrected. The program that read them ends, or its results may be wrong.",
    "Drain the jobs and reset the GPU: a reset replaces bad rows.",
  ),
  memory(
    "Remapped rows",
    "Rows of memory that were replaced by spare ones (Ampere and newer). A pending remap takes effect at the next reset.",
    "Reset the GPU where one is pending; replace it where remapping failed.",
  ),
  memory(
    "Retired pages",
    "Pages of memory that the driver no longer uses (before Ampere).",
    "Replace the board at 60 or more.",
  ),
];

export const dictionary: readonly DictionaryEntry[] = [
  ...fixedEntries,
  ...xidEntries.map(({ xids: numbers, name, meaning, action }): DictionaryEntry => ({
    term: `Xid ${numbers.join(", ")}`,
    kind: "Xid",
    meaning: `${name}. ${meaning}`,
    ...(action === "none" ? {} : { action: `${actionWords[action]}.` }),
  })),
];

/** Returns the entries that contain every word of the search. A bare number finds only its Xid. */
export function searchDictionary(text: string): readonly DictionaryEntry[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return dictionary.filter(({ term, kind, meaning }) => {
    const own = `${kind} ${term} ${meaning}`.toLowerCase();
    return words.every((word) =>
      /^\d+$/.test(word) ? new RegExp(`\\b${word}\\b`).test(term) : own.includes(word),
    );
  });
}
