/** Reads a CSV of samples and emits one frame per timestamp, in order of time; the file lists them series by series. */
import { createReadStream, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import { csvSample, isCsvHeader, splitCells } from "../../formats/csv/parse.ts";
import { entry } from "../../model/catalogue/define.ts";
import { findMetric, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelKey, labelSet } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import type { Emit, SourceContext, StreamingSource } from "../source.ts";

export interface CsvOptions {
  readonly file: string;
  readonly reject?: SourceContext["reject"];
}

/** Size limit, since the file is sorted in memory. */
const maxBytes = 512 * 2 ** 20;

type Instant = Map<number, number>;

export class CsvSource implements StreamingSource {
  readonly shape = "streaming";
  readonly #options: CsvOptions;
  readonly #series: Series[] = [];
  readonly #known = new Map<string, number>();
  readonly #metrics = new Map<string, MetricEntry>();
  readonly #layouts = new Map<string, Layout>();

  constructor(options: CsvOptions) {
    this.#options = options;
  }

  devices(): readonly Device[] {
    return [];
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    const instants = await this.#read(signal);
    const times = [...instants.keys()].toSorted((left, right) => left - right);
    for (const timeMs of times) {
      if (signal.aborted) return;
      const instant = instants.get(timeMs) ?? new Map<number, number>();
      const indexes = [...instant.keys()].toSorted((left, right) => left - right);
      const writer = new FrameWriter(this.#layoutOf(indexes), timeMs);
      indexes.forEach((index, slot) => writer.set(slot, instant.get(index) ?? 0));
      await emit(writer.finish());
    }
  }

  close(): void {}

  async #read(signal: AbortSignal): Promise<Map<number, Instant>> {
    const { file, reject } = this.#options;
    const instants = new Map<number, Instant>();
    try {
      if (statSync(file).size > maxBytes)
        throw new GpulseError(
          "FILE_FORMAT",
          `${file} is larger than 512 MiB: bring it into a hub with gpulse import, or write it as Parquet.`,
        );
      const input = createReadStream(file, { encoding: "utf8", signal });
      let columns: readonly string[] | undefined;
      for await (const line of createInterface({ input, crlfDelay: Infinity })) {
        if (line === "") continue;
        const cells = splitCells(line.replace(/^\uFEFF/, ""));
        if (columns === undefined) {
          if (!isCsvHeader(cells))
            throw new GpulseError(
              "FILE_FORMAT",
              `${file} is not a CSV of gpulse: its first line lacks the columns __name__, time and value. Write one with gpulse query --csv.`,
            );
          columns = cells;
          continue;
        }
        const sample = csvSample(columns, cells);
        if (typeof sample === "string") {
          await reject?.({ content: Buffer.from(line), reason: sample, source: `csv ${file}` });
          continue;
        }
        const instant = instants.get(sample.timeMs) ?? new Map<number, number>();
        instants.set(sample.timeMs, instant);
        instant.set(this.#indexOf(sample.name, sample.labels), sample.value);
      }
      if (columns === undefined) throw new GpulseError("FILE_FORMAT", `${file} is empty.`);
      return instants;
    } catch (thrown) {
      if (signal.aborted) return instants;
      const code = systemCode(thrown);
      if (thrown instanceof GpulseError || code === undefined) throw thrown;
      const says =
        code === "ENOENT"
          ? `There is no file ${file}.`
          : `${file} cannot be read: ${formatError(thrown)}.`;
      throw new GpulseError("FILE_UNREADABLE", says, { cause: thrown });
    }
  }

  #indexOf(name: string, given: Readonly<Record<string, string>>): number {
    const labels = labelSet(given);
    const key = `${name}\uFFFF${labelKey(labels)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const index = this.#series.push({ metric: this.#metricOf(name), suffix: "", labels }) - 1;
    this.#known.set(key, index);
    return index;
  }

  /** A metric that is not in the catalogue is accepted with any value. */
  #metricOf(name: string): MetricEntry {
    const known = findMetric(name) ?? this.#metrics.get(name);
    if (known !== undefined) return known;
    const made = entry("device", name, {
      help: "Read from a CSV.",
      resolution: 1e-6,
      plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
    });
    this.#metrics.set(name, made);
    return made;
  }

  #layoutOf(indexes: readonly number[]): Layout {
    const key = indexes.join();
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    const layout = { series: indexes.flatMap((index) => this.#series[index] ?? []) };
    this.#layouts.set(key, layout);
    return layout;
  }
}
