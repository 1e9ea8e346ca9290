/** Run files whose claims do not match their content: small to send, and large for a reader that believes them. */
import { createHash } from "node:crypto";
import { unzipSync, zipSync } from "fflate";
import { packRun } from "../../src/runs/file/file.ts";
import { fixtureRun } from "../fixtures/runs/runs.ts";

const megabytes = 40;

/** A zip of 40 MB of zeros whose directory announces this size. */
export function zipBomb(claimedBytes: number): Buffer {
  const zip = Buffer.from(zipSync({ "output.log": new Uint8Array(megabytes * 1024 * 1024) }));
  zip.writeUInt32LE(claimedBytes, zip.indexOf("PK\u0001\u0002", 0, "latin1") + 24);
  return zip;
}

export const zipOf = (entries: number): Buffer =>
  Buffer.from(
    zipSync(
      Object.fromEntries(Array.from({ length: entries }, (_, at) => [`${at}`, new Uint8Array()])),
    ),
  );

/** A complete archive with a valid manifest, in which a run of absent values claims to be thousands long. */
export async function traceBomb(): Promise<Buffer> {
  const files = unzipSync((await packRun(fixtureRun({ seconds: 10 }))).bytes);
  const trace = Buffer.from(files["trace.parquet"] ?? []);
  const rows = fixtureRun({ seconds: 10 }).trace.get("SIM-fixture-0")?.timeMs.length ?? 0;
  const run = Buffer.from([((rows << 1) & 0x7f) | 0x80, rows >> 6, 0]);
  const at = trace.indexOf(run);
  if (at === -1) throw new Error("BUG: the trace is not as it was when this was written");
  trace.set([0xfe, 0x7f], at);
  files["trace.parquet"] = trace;
  const manifest = JSON.parse(Buffer.from(files["manifest.json"] ?? []).toString("utf8")) as {
    sha256: Record<string, string>;
  };
  manifest.sha256["trace.parquet"] = createHash("sha256").update(trace).digest("hex");
  files["manifest.json"] = Buffer.from(JSON.stringify(manifest));
  return Buffer.from(zipSync(files));
}
