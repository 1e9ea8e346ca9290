/** Imports a file uploaded to a running hub, as `gpulse import` would, into that hub's history. */
import type { Settings } from "../command/settings.ts";
import type { SampleWriter } from "../../storage/history.ts";
import type { ImportOutcome, ImportUpload } from "../../hub/receive/import.ts";
import { openImportSource } from "./options.ts";
import { SkippedSamples } from "./source.ts";
import { writeBatch } from "./target.ts";

const mostNotes = 10;

export function uploadImporter(settings: Settings, writer: SampleWriter): ImportUpload {
  return async ({ file, gpuName, host, timezone }, signal) => {
    const skipped = new SkippedSamples();
    const notes = new Set<string>();
    const reading = openImportSource(file, {
      flags: {
        ...(gpuName === undefined || gpuName === "" ? {} : { gpuName }),
        ...(timezone === undefined || timezone === "" ? {} : { timezone }),
      },
      settings: host === undefined || host === "" ? settings : { ...settings, hostName: host },
      nowMs: Date.now(),
      skipped,
      note: (sentence) => void notes.add(sentence),
    });
    let [samples, kept, refused, fromMs, toMs] = [0, 0, 0, Infinity, -Infinity];
    for await (const { batch } of reading.pieces(-1, signal)) {
      if (batch.sampleCount === 0) continue;
      const written = await writeBatch(writer, batch);
      samples += batch.sampleCount;
      kept += written.kept;
      refused += written.refused;
      if (written.reason !== undefined) notes.add(written.reason);
      for (const timeMs of batch.times) {
        fromMs = Math.min(fromMs, timeMs);
        toMs = Math.max(toMs, timeMs);
      }
    }
    return {
      format: reading.format,
      samples,
      kept,
      refused,
      notes: [...notes].slice(0, mostNotes),
      fromTime: iso(fromMs),
      toTime: iso(toMs),
      skipped: skipped.list(),
    } satisfies ImportOutcome;
  };
}

const iso = (ms: number): string | null =>
  Number.isFinite(ms) ? new Date(ms).toISOString() : null;
