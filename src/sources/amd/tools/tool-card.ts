/** What amd-smi or rocm-smi tells of one card, in base units and the catalogue's words, whichever tool and version told it. */
import type { gpu } from "../../../model/catalogue/index.ts";
import type { Reading } from "../../../sysfs/reading.ts";
import { failed, present, unsupported } from "../../../sysfs/reading.ts";

export interface ToolValue {
  readonly metric: keyof typeof gpu;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ToolCard {
  /** The tool's own number. */
  readonly number: number;
  readonly pciBusId?: string;
  readonly deviceId?: number;
  readonly uniqueId?: string;
  readonly model?: string;
  readonly vbios?: string;
  readonly driver?: string;
  readonly values: readonly ToolValue[];
}

/** How the tools write a number they do not have, when they write a number: the driver's all-ones. */
const sentinels = new Set([65_535, 4_294_967_295, 2 ** 64, 2 ** 64 - 1]);

export function isSentinel(value: number): boolean {
  return !Number.isFinite(value) || sentinels.has(value);
}

/** A market name may be cut off in the middle of a bracket: "Navi 23 [Radeon RX 6600/6600 XT". */
export function tidyName(name: string): string | undefined {
  const inside = /\[([^\]]+)\]?$/.exec(name)?.[1] ?? name;
  const text = inside.trim();
  if (text === "" || /^(?:N\/A|0x[0-9a-f]+|unknown)$/i.test(text)) return undefined;
  return /^AMD\b/.test(text) ? text : `AMD ${text}`;
}

/**
 * The JSON in a tool's output: after whatever its Python prints first, such as warnings or how to stop watching. Nothing at
 * all, or a sentence that says there is nothing, means the tool sees no card.
 */
export function findJson(output: string): Reading<unknown> {
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

/** The own value at a path of keys; inherited names are none. */
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
