/**
 * The series of Influx lines: tags become labels, `measurement_field` the name, and `measurement` alone for the field
 * `value`. What a Prometheus name cannot hold becomes an underscore. A line's tags are read once per request.
 */
import type { Label } from "../../model/labels.ts";
import { BlockWriter } from "../samples/block.ts";
import type { BatchBuilder } from "../samples/builder.ts";
import { BatchTooLarge, maxBatchSeries } from "../samples/limits.ts";
import { byteOf, findPlain, LineError, plainText } from "./scan.ts";

/** One measurement with its tags: the labels around the name, already encoded. */
export interface Tagged {
  readonly measurement: string;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly fields: Map<string, number>;
}

const nameLabel = "__name__";

export class SeriesBook {
  readonly #builder: BatchBuilder;
  readonly #extra: readonly Label[];
  readonly #known = new Map<string, Tagged>();
  readonly #block = new BlockWriter();

  /** `extra` labels are put where no tag has their name. */
  constructor(builder: BatchBuilder, extra: readonly Label[]) {
    this.#builder = builder;
    this.#extra = extra;
  }

  /** @throws LineError where these bytes are no measurement with tags. */
  tagged(bytes: Buffer, start: number, end: number): Tagged {
    const key = bytes.toString("latin1", start, end);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.#read(bytes, start, end);
    this.#known.set(key, made);
    return made;
  }

  series(tagged: Tagged, bytes: Buffer, fieldStart: number, fieldEnd: number): number {
    const key = bytes.toString("latin1", fieldStart, fieldEnd);
    const known = tagged.fields.get(key);
    if (known !== undefined) return known;
    if (this.#builder.seriesCount >= maxBatchSeries) throw new BatchTooLarge();
    const field = plainText(bytes, fieldStart, fieldEnd);
    const name = field === "value" ? tagged.measurement : `${tagged.measurement}_${field}`;
    const block = this.#block;
    block.clear();
    block.append(tagged.before);
    block.label(nameLabel, metricName(name));
    block.append(tagged.after);
    const series = this.#builder.rawSeries(block.bytes, 0, block.length);
    tagged.fields.set(key, series);
    return series;
  }

  #read(bytes: Buffer, start: number, end: number): Tagged {
    const measurementEnd = findPlain(bytes, start, end, byteOf.comma, byteOf.comma);
    if (measurementEnd === start) throw new LineError("it has no measurement");
    const labels = new Map<string, string>(this.#extra);
    const tags = new Set<string>();
    for (let at = measurementEnd; at < end;) {
      const equals = findPlain(bytes, at + 1, end, byteOf.equals, byteOf.comma);
      if (bytes[equals] !== byteOf.equals || equals === at + 1 || equals >= end)
        throw new LineError("a tag is no name=value");
      const next = findPlain(bytes, equals + 1, end, byteOf.comma, byteOf.comma);
      const name = labelName(plainText(bytes, at + 1, equals));
      if (tags.has(name)) throw new LineError(`tag "${name}" stands twice`);
      tags.add(name);
      labels.set(name, plainText(bytes, equals + 1, next));
      at = next;
    }
    const sorted = [...labels].filter(([, value]) => value !== "").sort(byName);
    const block = this.#block;
    const encoded = (part: readonly Label[]): Uint8Array => {
      block.clear();
      for (const [name, value] of part) block.label(name, value);
      return block.finish();
    };
    return {
      measurement: plainText(bytes, start, measurementEnd),
      before: encoded(sorted.filter(([name]) => name < nameLabel)),
      after: encoded(sorted.filter(([name]) => name >= nameLabel)),
      fields: new Map(),
    };
  }
}

const byName = ([left]: Label, [right]: Label): number =>
  left < right ? -1 : left > right ? 1 : 0;

export const metricName = (text: string): string =>
  text.replace(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_");

export const labelName = (text: string): string =>
  text.replace(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d)/, "_");
