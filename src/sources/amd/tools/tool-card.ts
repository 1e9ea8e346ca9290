/** One card as amd-smi or rocm-smi reports it, in base units and with the catalogue's names, independent of tool and version. */
import { gpu } from "../../../model/catalogue/index.ts";
import { isPlausible } from "../../../model/frame.ts";
import { isAllOnes } from "../../../machine/sysfs/read.ts";
import {
  failed,
  present,
  type ReadResult,
  unsupported,
} from "../../../machine/sysfs/read-result.ts";

export interface ToolValue {
  readonly metric: keyof typeof gpu;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly value: number;
}

export interface ToolCard {
  /** The tool's own number of the card. */
  readonly number: number;
  readonly pciBusId?: string | undefined;
  readonly deviceId?: number | undefined;
  readonly uniqueId?: string | undefined;
  readonly model?: string | undefined;
  readonly vbios?: string | undefined;
  readonly partNumber?: string | undefined;
  readonly driver?: string | undefined;
  readonly values: readonly ToolValue[];
}

/** The driver's all ones as the tools print it: 65535 mV also as 65.535 V, 4294967295 µW as 4294.967 W. */
const sentinels = [0xffff, 0xffff_ffff].flatMap((ones) => [ones, ones / 1e3, ones / 1e6]);

export function isSentinel(value: number): boolean {
  if (!Number.isFinite(value) || isAllOnes(value)) return true;
  return sentinels.some((ones) => value === ones || value === Math.trunc(ones * 1e3) / 1e3);
}

const pairs: readonly (readonly [part: ToolValue["metric"], whole: ToolValue["metric"]])[] = [
  ["memoryUsed", "memoryTotal"],
  ["memoryFree", "memoryTotal"],
  ["visibleMemoryUsed", "visibleMemoryTotal"],
  ["sharedMemoryUsed", "sharedMemoryTotal"],
];

/** Drops implausible values: numbers outside a metric's range, temperatures of 0, a part larger than its whole. */
export function plausibleValues(values: readonly ToolValue[]): readonly ToolValue[] {
  const find = (name: ToolValue["metric"] | undefined): number | undefined =>
    values.find(({ metric }) => metric === name)?.value;
  return values.filter(({ metric, value }) => {
    const whole = find(pairs.find(([part]) => part === metric)?.[1]);
    if (whole !== undefined && value > whole) return false;
    return isPlausible(gpu[metric], value) && !(metric === "temperature" && value === 0);
  });
}

/** Extracts the market name, which may be truncated inside a bracket: "Navi 23 [Radeon RX 6600/6600 XT". */
export function tidyName(name: string): string | undefined {
  const inside = /\[([^\]]+)\]?$/.exec(name)?.[1] ?? name;
  const text = inside.trim();
  if (text === "" || /^(?:N\/A|0x[0-9a-f]+|unknown)$/i.test(text)) return undefined;
  return /^AMD\b/.test(text) ? text : `AMD ${text}`;
}

/**
 * Finds the JSON in a tool's output, after anything its Python prints first, such as warnings or how to stop watching. No output,
 * or a sentence that there is nothing, means that the tool finds no card.
 */
export function findJson(output: string): ReadResult<unknown> {
  const text = output.replaceAll("\0", "").trim();
  if (text === "" || /No JSON data to report|Driver not initialized/i.test(text.slice(0, 2_000))) {
    return unsupported;
  }
  let tries = 0;
  for (const match of text.matchAll(/^\s*[[{]/gm)) {
    if (++tries > 20) break;
    const close = match[0].endsWith("[") ? "]" : "}";
    try {
      return present(JSON.parse(text.slice(match.index, text.lastIndexOf(close) + 1)) as unknown);
    } catch {
      continue;
    }
  }
  return failed;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own value at a path of keys; inherited properties are ignored. */
export function at(value: unknown, path: string): unknown {
  let found = value;
  for (const key of path.split(".")) {
    if (!isRecord(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

export function textAt(value: unknown, path: string): string | undefined {
  const found = at(value, path);
  return typeof found === "string" && found !== "" && found !== "N/A" ? found : undefined;
}
