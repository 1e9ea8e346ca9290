/** Imports a finished GPU-Z log: one frame per row, with a staleness marker when a sensor disappears. */
import { statSync } from "node:fs";
import { GpulseError } from "../../base/error.ts";
import { gpuzDevice, type GpuzIdentity } from "../../formats/gpuz/device.ts";
import { GpuzFrames } from "../../formats/gpuz/frames.ts";
import { type GpuzRow, type RowCounts, RowParser } from "../../formats/gpuz/rows.ts";
import { LocalClock, type TimeNote, type Zone } from "../../formats/gpuz/time.ts";
import { FrameSamples } from "../../formats/samples/from-frame.ts";
import { type SampleBatch, joinBatches } from "../../formats/samples/batch.ts";
import type { LabelSet } from "../../model/labels.ts";
import { readLines } from "./lines.ts";
import {
  type ImportBatch,
  type ImportSource,
  samplesPerImportBatch,
  setLabels,
  type SkippedSamples,
} from "./source.ts";

const maxLineBytes = 65_536;

const reasons: Partial<Record<keyof RowCounts, string>> = {
  beforeHeader: "rows before the first header: their columns are unknown",
  unusable: "lines that are neither header nor a row with as many cells as its header",
};
const notes: Partial<Record<TimeNote, string>> = {
  never: "rows of an hour that does not exist in the time zone were imported: check --timezone",
  back: "rows where the clock went back were imported",
  twice: "rows of an hour that occurs twice were read as the one nearer to the previous row",
};

export interface GpuzImport extends GpuzIdentity {
  readonly file: string;
  readonly zone: Zone;
  /** Labels added to series that do not have them. */
  readonly extra: LabelSet;
  /** Labels set on every series, replacing existing ones. */
  readonly set: Readonly<Record<string, string>>;
  readonly skipped: SkippedSamples;
  readonly note: (sentence: string) => void;
}

export function openGpuzImport(options: GpuzImport): ImportSource {
  return { format: "gpuz", pieces: (after, signal) => read(options, after, signal) };
}

async function* read(
  { file, zone, extra, set, skipped, note, ...identity }: GpuzImport,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<ImportBatch> {
  const size = Math.max(1, statSync(file).size);
  const parser = new RowParser();
  const clock = new LocalClock(zone);
  const samples = new FrameSamples();
  let waiting: SampleBatch[] = [];
  let waitingSamples = 0;
  const takeBatch = (): SampleBatch => {
    const batch = setLabels(joinBatches(waiting), set);
    waiting = [];
    waitingSamples = 0;
    return batch;
  };
  const said = new Set<TimeNote>();
  let frames: GpuzFrames | undefined;
  const keep = (rows: readonly GpuzRow[]): void => {
    for (const row of rows) {
      const { timeMs, note: kind } = clock.instant(row.localMs);
      const sentence = kind === undefined ? undefined : notes[kind];
      if (kind !== undefined && sentence !== undefined && !said.has(kind)) note(sentence);
      if (kind !== undefined) said.add(kind);
      frames ??= new GpuzFrames(gpuzDevice(row.header, file, identity, note), identity.host);
      const frame = frames.frame(row, timeMs);
      const { batch } = samples.take({ frame, source: file, tier: "import" }, extra);
      waiting.push(batch);
      waitingSamples += batch.sampleCount;
    }
  };
  let position = 0;
  for await (const line of readLines(file, maxLineBytes, signal)) {
    const before = { ...parser.counts };
    if (line.tooLong) skipped.add("lines that are too long", line.number);
    else keep(parser.push(line.bytes));
    for (const [kind, reason] of Object.entries(reasons) as [keyof RowCounts, string][])
      if (parser.counts[kind] > before[kind]) skipped.add(reason, line.number);
    position = line.end;
    if (waitingSamples < samplesPerImportBatch) continue;
    const batch = takeBatch();
    if (position > after) yield { batch, position, fraction: position / size };
  }
  keep(parser.end());
  if (parser.counts.rows === 0)
    throw new GpulseError(
      "FILE_FORMAT",
      parser.counts.headers === 0
        ? `${file} is not a GPU-Z sensor log: no line starts with "Date", or its header is cut off.`
        : `${file} has a header but no rows.`,
    );
  if (parser.counts.cut > 0)
    note(`rows that are cut short were used as far as they are whole: ${parser.counts.cut}`);
  // The final position is beyond all earlier ones, even if the last row ended a batch.
  if (waitingSamples > 0) yield { batch: takeBatch(), position: position + 1, fraction: 1 };
}
