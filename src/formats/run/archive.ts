/**
 * The bytes of a `.gpulserun` file: a zip with known entries and `manifest.json`, which holds the SHA-256 of each. Reading checks
 * every entry against the manifest. A forger can replace the manifest too: only comparing the seal proves the file.
 */
import { createHash } from "node:crypto";
import { GpulseError, formatError } from "../../base/error.ts";
import { UnpackLimitError, unzip } from "./unzip.ts";

const entryNames = [
  "run.json",
  "trace.parquet",
  "snapshot-before.json",
  "snapshot-after.json",
  "output.log",
] as const;
export type EntryName = (typeof entryNames)[number];

export interface Archive {
  readonly entries: ReadonlyMap<EntryName, Uint8Array>;
  /** SHA-256 of the manifest, which seals the whole file; printed when the file is written. */
  readonly seal: string;
}

const manifestName = "manifest.json";
const required: readonly EntryName[] = ["run.json", "trace.parquet"];
/** Limit of all unpacked entries together: a small zip can expand to gigabytes. */
export const maxArchiveBytes = 1024 * 1024 * 1024;
/** JSON entries are parsed at once, which takes ten times their size in memory. */
const maxJsonBytes = 16 * 1024 * 1024;

export async function packArchive(
  entries: ReadonlyMap<EntryName, Uint8Array>,
): Promise<{ readonly bytes: Uint8Array; readonly seal: string }> {
  const { zipSync } = await import("fflate");
  const hashes = Object.fromEntries(
    entryNames.flatMap((name) => {
      const bytes = entries.get(name);
      return bytes === undefined ? [] : [[name, sha256(bytes)]];
    }),
  );
  const manifest = Buffer.from(
    `${JSON.stringify({ format: "gpulse-run-manifest", version: 1, sha256: hashes }, null, 2)}\n`,
  );
  const files: Record<string, [Uint8Array, { level: 0 | 6 }]> = {
    [manifestName]: [manifest, { level: 6 }],
  };
  for (const [name, bytes] of entries)
    files[name] = [bytes, { level: name.endsWith(".parquet") ? 0 : 6 }];
  // A fixed date: the same run packs to the same bytes.
  const bytes = zipSync(files, { mtime: "2000-01-01T00:00:00Z" });
  return { bytes, seal: sha256(manifest) };
}

/** @throws GpulseError RUN_FILE that lists every changed entry. */
export async function openArchive(
  bytes: Uint8Array,
  shown: string,
  totalBytes = maxArchiveBytes,
): Promise<Archive> {
  const files = await unpacked(bytes, shown, totalBytes);
  const manifest = files.get(manifestName);
  if (manifest === undefined) throw bad(shown, "has no manifest.json, so nothing in it is proved");
  const hashes = readManifest(manifest, shown);
  const problems: string[] = [];
  const entries = new Map<EntryName, Uint8Array>();
  for (const name of entryNames) {
    const content = files.get(name);
    const expected = hashes[name];
    if (content === undefined && expected !== undefined) problems.push(`${name} is missing`);
    else if (content === undefined) continue;
    else if (expected === undefined) problems.push(`${name} was added`);
    else if (sha256(content) !== expected) problems.push(`${name} was changed`);
    else entries.set(name, content);
  }
  for (const name of files.keys())
    if (name !== manifestName && !entryNames.some((known) => known === name))
      problems.push(`${name.slice(0, 100)} does not belong in it`);
  if (problems.length > 0)
    throw bad(shown, `is not as it was written: ${problems.join(", ")}. Get the original`);
  const missing = required.filter((name) => !entries.has(name));
  if (missing.length > 0) throw bad(shown, `has no ${missing.join(" and no ")}`);
  return { entries, seal: sha256(manifest) };
}

async function unpacked(
  bytes: Uint8Array,
  shown: string,
  totalBytes: number,
): Promise<Map<string, Uint8Array>> {
  try {
    return await unzip(bytes, {
      totalBytes,
      entryBytes: (name) => (name.endsWith(".json") ? maxJsonBytes : totalBytes),
      isWanted: (name) => name === manifestName || entryNames.some((known) => known === name),
    });
  } catch (thrown) {
    if (thrown instanceof UnpackLimitError)
      throw bad(shown, `${thrown.message} (${totalBytes / 2 ** 20} MiB in all)`);
    throw bad(shown, `is not a .gpulserun file, or is truncated (${formatError(thrown)})`, thrown);
  }
}

function readManifest(bytes: Uint8Array, shown: string): Readonly<Record<string, unknown>> {
  try {
    const manifest: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    if (typeof manifest === "object" && manifest !== null && "sha256" in manifest) {
      const { sha256: hashes } = manifest;
      if (typeof hashes === "object" && hashes !== null) return { ...hashes };
    }
  } catch (thrown) {
    throw bad(shown, "has a manifest.json that is not JSON", thrown);
  }
  throw bad(shown, "has a manifest.json without hashes");
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const bad = (shown: string, what: string, cause?: unknown): GpulseError =>
  new GpulseError("RUN_FILE", `${shown} ${what}.`, cause === undefined ? {} : { cause });
