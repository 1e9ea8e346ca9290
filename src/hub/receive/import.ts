/**
 * `POST /api/import`: imports a log file uploaded on the page with the importer of `gpulse import`. The file is first stored
 * completely, up to a size limit; one is imported at a time, and it is deleted once the response is sent.
 */
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyInstance, FastifyReply } from "fastify";
import { GpulseError } from "../../base/error.ts";
import { noStore, sendError } from "../reply.ts";

export interface Upload {
  /** Temporary file during the import. */
  readonly file: string;
  /** Original file name, for messages. */
  readonly name: string;
  readonly gpuName: string | undefined;
  readonly host: string | undefined;
  /** Time zone of timestamps without one: `Europe/Berlin`. */
  readonly timezone: string | undefined;
}

export interface ImportOutcome {
  readonly format: string;
  readonly samples: number;
  readonly kept: number;
  readonly refused: number;
  /** Reasons for rejected samples, and other notes. */
  readonly notes: readonly string[];
  readonly fromTime: string | null;
  readonly toTime: string | null;
  readonly skipped: readonly { readonly reason: string; readonly count: number }[];
}

/** @throws GpulseError if the file is invalid. */
export type ImportUpload = (upload: Upload, signal: AbortSignal) => Promise<ImportOutcome>;

const maxUploadBytes = 256 * 1024 * 1024;

class UploadTooLargeError extends Error {}

export async function addImport(
  app: FastifyInstance,
  importUpload: ImportUpload,
  maxBytes = maxUploadBytes,
): Promise<void> {
  let busy = false;
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // Streams the body to the file without buffering it.
    scope.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
    scope.post<{ Querystring: Record<string, string | undefined> }>(
      "/api/import",
      { bodyLimit: maxBytes },
      async ({ body, query, headers }, reply) => {
        // Refuses at once if Content-Length is too large, before the client uploads for minutes.
        if (Number(headers["content-length"]) > maxBytes) return tooLarge(reply, maxBytes);
        if (busy)
          return sendError(reply, 503, "Another file is being imported: wait until it is done.");
        busy = true;
        const abort = new AbortController();
        reply.raw.once("close", () => abort.abort());
        const folder = mkdtempSync(path.join(tmpdir(), "gpulse-import-"));
        const file = path.join(folder, "upload");
        try {
          await putDown(body as Readable, file, maxBytes);
          const { gpuName, host, timezone } = query;
          const name = (query["name"] ?? "the file").slice(0, 200);
          const outcome = await importUpload({ file, name, gpuName, host, timezone }, abort.signal);
          return await noStore(reply).send({ name, ...outcome });
        } catch (thrown) {
          if (thrown instanceof UploadTooLargeError) return tooLarge(reply, maxBytes);
          if (!(thrown instanceof GpulseError)) throw thrown;
          return sendError(
            reply,
            400,
            thrown.message.replaceAll(file, query["name"] ?? "the file"),
          );
        } finally {
          busy = false;
          rmSync(folder, { recursive: true, force: true });
        }
      },
    );
  });
}

/** @throws UploadTooLargeError after discarding the rest: sending a response needs an intact connection. */
async function putDown(body: Readable, file: string, maxBytes: number): Promise<void> {
  let bytes = 0;
  const bound = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done();
      else done(null, chunk);
    },
  });
  await pipeline(body, bound, createWriteStream(file, { mode: 0o600 }));
  if (bytes > maxBytes) throw new UploadTooLargeError();
}

const tooLarge = (reply: FastifyReply, maxBytes: number): FastifyReply =>
  sendError(
    reply,
    413,
    `A file may have ${Math.floor(maxBytes / 1024 / 1024)} MiB here: import larger ones with gpulse import.`,
  );
