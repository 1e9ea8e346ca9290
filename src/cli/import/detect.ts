/** Detects the format of a file by its first lines, unless the user specified it. */
import { closeSync, openSync, readSync } from "node:fs";
import { GpulseError, systemCode } from "../../base/error.ts";

export const importFormats = ["gpuz", "csv", "openmetrics", "text", "prometheus"] as const;
export type ImportFormat = (typeof importFormats)[number];

const peekBytes = 65_536;

export function detectFormat(what: string): ImportFormat {
  if (/^prometheus\+https?:\/\//.test(what)) return "prometheus";
  const text = peek(what);
  const lines = text.split(/[\r\n\0]+/).filter((line) => line.trim() !== "");
  if (lines.some((line) => /^\s*Date\s*,/.test(line))) return "gpuz";
  const [first = ""] = lines;
  if (/(^|,)"?time"?,"?value"?$/.test(first)) return "csv";
  if (/^\s*\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\s*,/.test(first)) return "gpuz";
  if (lines.slice(0, 50).some(isExposition)) return "text";
  throw new GpulseError(
    "FILE_FORMAT",
    `The format of ${what} is unknown. Pass it with --format ${importFormats.slice(0, 4).join("|")}.`,
  );
}

const isExposition = (line: string): boolean =>
  /^# (HELP|TYPE|UNIT|EOF)/.test(line) ||
  /^[a-zA-Z_:"{][^,]*?(\{.*\})?\s+([-+]?[\d.]|[-+]?inf|nan)/i.test(line);

function peek(file: string): string {
  try {
    const handle = openSync(file, "r");
    try {
      const bytes = Buffer.alloc(peekBytes);
      return bytes
        .toString("latin1", 0, readSync(handle, bytes, 0, peekBytes, 0))
        .replace(/^\u00ef\u00bb\u00bf/, "");
    } finally {
      closeSync(handle);
    }
  } catch (thrown) {
    throw unreadable(file, thrown);
  }
}

export function unreadable(file: string, thrown: unknown): GpulseError {
  const code = systemCode(thrown);
  const why =
    code === "ENOENT"
      ? "does not exist"
      : code === "EISDIR"
        ? "is a folder"
        : `cannot be read (${code ?? "error"})`;
  return new GpulseError("FILE_UNREADABLE", `The file ${file} ${why}.`, { cause: thrown });
}
