/** Bounded reads of kernel files. Never throws: a file that cannot be read is an absence with its reason. */
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

/** Without the line break at the end and the NULs some captures are padded with. */
export async function readText(
  path: string,
  maxBytes: number = pageBytes,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<string>> {
  const bytes = await readBytes(path, maxBytes, fileAccess);
  return bytes.ok ? present(trimText(bytes.value)) : bytes;
}

/** One whole number, as most sensor files hold it. Anything else in the file is a failed reading. */
export async function readNumber(
  path: string,
  fileAccess: FileAccess = hostFileAccess,
): Promise<ReadResult<number>> {
  const text = await readText(path, numberBytes, fileAccess);
  return text.ok ? parseNumber(text.value) : text;
}

/** 16, 32 and 64 bits of ones, the last as far as a double holds it, and -1, which is the same with a sign. */
const allOnes: ReadonlySet<number> = new Set([0xffff, 0xffff_ffff, 2 ** 64, 2 ** 63, -1]);

/** Whether a driver writes this number for a value the chip does not report. */
export function isAllOnes(value: number): boolean {
  return allOnes.has(value);
}

/** A number a GPU's chip reports; all ones is what it does not report. */
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

/** Where the path really is, through every link on the way. */
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

export function trimText(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end === -1 ? bytes.length : end).trim();
}

/** Decimal, or hexadecimal with 0x. A number too big to be exact is still a number. */
export function parseNumber(text: string): ReadResult<number> {
  return /^(?:[+-]?\d{1,20}|0x[0-9a-f]{1,16})$/i.test(text) ? present(Number(text)) : failed;
}
