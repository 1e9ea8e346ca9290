/**
 * The series of Influx lines: tags become labels, `measurement_field` the name, and `measurement` alone for the field
 * `value`. What a Prometheus name cannot hold becomes an underscore. A series stands once in a batch, however often its
 * lines do.
 */
import type { Label } from "../../model/labels.ts";
import { BlockWriter, labelBlock } from "../samples/block.ts";
import type { BatchBuilder } from "../samples/builder.ts";
import { BatchTooLarge, maxBatchSeries } from "../samples/limits.ts";
import { byteOf, findPlain, LineError, plainText } from "./scan.ts";
import { metricName, nameLabel, TagWriter } from "./tags.ts";

/** One measurement with its tags. Most have one field, so that one is kept without a table. */
interface Tagged {
  readonly start: number;
  readonly end: number;
  firstField: string;
  firstSeries: number;
  others: Map<string, number> | undefined;
}

export class SeriesBook {
  readonly #builder: BatchBuilder;
  readonly #known = new Map<string, Tagged>();
  /** The label of each name, encoded: a request has few. */
  readonly #names = new Map<string, Uint8Array>();
  readonly #block = new BlockWriter();
  readonly #tags: TagWriter;
  /** Whose tags are written, and its measurement. */
  #current: Tagged | undefined;
  #measurement = "";

  constructor(builder: BatchBuilder, extra: Label | undefined) {
    this.#builder = builder;
    this.#tags = new TagWriter(extra);
  }

  /** @throws LineError where these bytes are no measurement with tags. */
  tagged(bytes: Buffer, start: number, end: number): Tagged {
    const key = bytes.toString("latin1", start, end);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made: Tagged = { start, end, firstField: "", firstSeries: -1, others: undefined };
    this.#open(bytes, made);
    this.#known.set(key, made);
    return made;
  }

  series(tagged: Tagged, bytes: Buffer, fieldStart: number, fieldEnd: number): number {
    const field = bytes.toString("latin1", fieldStart, fieldEnd);
    if (tagged.firstField === field) return tagged.firstSeries;
    const known = tagged.others?.get(field);
    if (known !== undefined) return known;
    const series = this.#add(tagged, bytes, plainText(bytes, fieldStart, fieldEnd));
    if (tagged.firstSeries < 0) {
      tagged.firstField = field;
      tagged.firstSeries = series;
    } else (tagged.others ??= new Map()).set(field, series);
    return series;
  }

  #add(tagged: Tagged, bytes: Buffer, field: string): number {
    if (this.#builder.seriesCount >= maxBatchSeries) throw new BatchTooLarge();
    if (this.#current !== tagged) this.#open(bytes, tagged);
    const joined = field === "value" ? this.#measurement : `${this.#measurement}_${field}`;
    let name = this.#names.get(joined);
    if (name === undefined)
      this.#names.set(joined, (name = labelBlock(nameLabel, metricName(joined))));
    const block = this.#block;
    const { before, after } = this.#tags;
    block.clear();
    block.append(before.bytes, 0, before.length);
    block.append(name, 0, name.length);
    block.append(after.bytes, 0, after.length);
    return this.#builder.rawSeries(block.bytes, 0, block.length);
  }

  #open(bytes: Buffer, tagged: Tagged): void {
    const { start, end } = tagged;
    this.#current = undefined;
    const measurementEnd = findPlain(bytes, start, end, byteOf.comma, byteOf.comma);
    if (measurementEnd === start) throw new LineError("it has no measurement");
    this.#measurement = plainText(bytes, start, measurementEnd);
    this.#tags.write(bytes, measurementEnd, end);
    this.#current = tagged;
  }
}
