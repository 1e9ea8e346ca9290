/** Bounded reads of kernel files. Never throws: an unreadable file is an absence with its reason. */
import { type FileAccess, hostFileAccess, pageBytes } from "./file-access.ts";
import { absenceOf, failed, present, type ReadResult, unsupported } from "./read-result.ts";

const numberBytes = 64;

export async function readBytes(
  path: string,
  maxBytes: number,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<Buffer>> {
  try {
    return present(await fileAccess.bytes(path, maxBytes));
  } catch (thrown) {
    return absenceOf(thrown);
  }
}

/** The file's text without the final line break, and without the NULs some captures are padded with. */
export async function readText(
  path: string,
  maxBytes: number = pageBytes,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<string>> {
  const bytes = await readBytes(path, maxBytes, fileAccess);
  return bytes.ok ? present(trimText(bytes.value)) : bytes;
}

/** Reads one whole number, the content of most sensor files. Any other content is a failed reading. */
export async function readNumber(
  path: string,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<number>> {
  const text = await readText(path, numberBytes, fileAccess);
  return text.ok ? parseNumber(text.value) : text;
}

/** 16, 32 and 64 bits of ones, the last as far as a double represents it, and -1, the signed form of the same. */
const allOnes: ReadonlySet<number> = new Set([0xffff, 0xffff_ffff, 2 ** 64, 2 ** 63, -1]);

/** True if drivers write this number for a value the chip does not report. */
export function isAllOnes(value: number): boolean {
  return allOnes.has(value);
}

/** Reads a sensor of a GPU's chip; all ones means that it is not reported. */
export async function readSensor(
  path: string,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<number>> {
  const number = await readNumber(path, fileAccess);
  return number.ok && isAllOnes(number.value) ? unsupported : number;
}

export async function listDir(
  path: string,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<string[]>> {
  try {
    return present(await fileAccess.list(path));
  } catch (thrown) {
    return absenceOf(thrown);
  }
}

export async function readLink(
  path: string,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<string>> {
  try {
    return present(await fileAccess.link(path));
  } catch (thrown) {
    return absenceOf(thrown);
  }
}

/** The real path, with every link resolved. */
export async function resolvePath(
  path: string,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<string>> {
  try {
    return present(await fileAccess.resolve(path));
  } catch (thrown) {
    return absenceOf(thrown);
  }
}

function trimText(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end === -1 ? bytes.length : end).trim();
}

/** Decimal, or hexadecimal with 0x. A number too large to be exact is accepted. */
export function parseNumber(text: string): ReadResult<number> {
  return /^(?:[+-]?\d{1,20}|0x[0-9a-f]{1,16})$/i.test(text) ? present(Number(text)) : failed;
}
