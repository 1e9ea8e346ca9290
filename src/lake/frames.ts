/** Converts rows of a lake back to frames: one per GPU and instant, and one per row of the long table. */
import * as v from "valibot";
import { entry } from "../model/catalogue/define.ts";
import { findMetric } from "../model/catalogue/index.ts";
import { type Device, deviceFromLabels } from "../model/device.ts";
import type { Frame } from "../model/frame.ts";
import { type LabelSet, labelSet } from "../model/labels.ts";
import { type Layout, LayoutBuilder, type SampleSuffix, type Series } from "../model/layout.ts";
import { presence } from "../model/presence.ts";
import { seriesOf } from "../model/columns.ts";
import type { NumberColumn, Rows } from "./table.ts";

export interface RowFrame {
  readonly frame: Frame;
  readonly host: string | undefined;
  readonly device: Device | undefined;
  readonly tags: readonly string[];
}

interface Cell {
  readonly series: Series;
  readonly column: NumberColumn;
}

/** Maximum number of cached layouts; a table has few shapes. */
const maxLayouts = 10_000;

const labelsSchema = v.record(v.string(), v.string());

export class FrameRebuilder {
  readonly #layouts = new Map<string, Layout>();

  /** One frame per row; `order` are row indices. */
  *frames(rows: Rows, order: Iterable<number>): Generator<RowFrame> {
    if (rows.table === "series") yield* this.#long(rows, order);
    else yield* this.#wide(rows, order);
  }

  *#wide(rows: Rows, order: Iterable<number>): Generator<RowFrame> {
    const text = textsOf(rows);
    const number = numbersOf(rows);
    const cells = rows.numbers.flatMap((column): Cell[] => {
      const found = seriesOf(column.name);
      return found === undefined
        ? []
        : [{ series: { metric: found.metric, suffix: "", labels: found.labels }, column }];
    });
    for (const row of order) {
      const uuid = text("uuid", row);
      if (uuid === undefined) continue;
      const host = text("host", row);
      const index = number("gpu", row);
      const here = cells.filter(({ column }) => column.present[row] === 1);
      const key = `${uuid}\u0000${host ?? ""}\u0000${index ?? ""}\u0000${here.map(({ column }) => column.name).join()}`;
      const layout = this.#layout(key, () =>
        here.map(({ series }) => ({
          ...series,
          labels:
            series.metric.subject === "host"
              ? merged(series.labels, { host })
              : merged(series.labels, { uuid, gpu: index?.toString(), host }),
        })),
      );
      const device = deviceFromLabels({
        uuid,
        gpu: index?.toString(),
        vendor: text("vendor", row),
        model: text("model", row),
        simulated: String(number("simulated", row) === 1),
      });
      const values = Float64Array.from(here, ({ column }) => column.values[row] as number);
      const tags = text("tags", row)?.split(",") ?? [];
      yield { frame: frameOf(rows, row, layout, values), host, device, tags };
    }
  }

  *#long(rows: Rows, order: Iterable<number>): Generator<RowFrame> {
    const text = textsOf(rows);
    const number = numbersOf(rows);
    for (const row of order) {
      const name = text("name", row) ?? "";
      const labels = text("labels", row) ?? "{}";
      const value = number("value", row);
      if (name === "" || value === undefined) continue;
      const layout = this.#layout(`${name}\u0000${labels}`, () => {
        const {
          job: _job,
          instance: _instance,
          ...own
        } = v.parse(labelsSchema, JSON.parse(labels));
        return [{ ...metricOf(name), labels: labelSet(own) }];
      });
      const host = text("host", row);
      yield {
        frame: frameOf(rows, row, layout, Float64Array.of(value)),
        host,
        device: undefined,
        tags: [],
      };
    }
  }

  #layout(key: string, series: () => readonly Series[]): Layout {
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    if (this.#layouts.size >= maxLayouts) this.#layouts.clear();
    const builder = new LayoutBuilder();
    for (const { metric, labels, suffix } of series()) builder.add(metric, labels, suffix);
    const layout = builder.build();
    this.#layouts.set(key, layout);
    return layout;
  }
}

const frameOf = (rows: Rows, row: number, layout: Layout, values: Float64Array): Frame => ({
  timeMs: rows.times[row] as number,
  layout,
  values,
  presence: new Uint8Array(values.length).fill(presence.present),
});

/** A name that is not in the catalogue is a gauge of unknown origin. */
function metricOf(name: string): Omit<Series, "labels"> {
  const metric = findMetric(name);
  if (metric !== undefined) return { metric, suffix: "" };
  for (const suffix of ["_bucket", "_sum", "_count"] as const satisfies SampleSuffix[]) {
    if (!name.endsWith(suffix)) continue;
    const histogram = findMetric(name.slice(0, -suffix.length));
    if (histogram?.kind === "histogram") return { metric: histogram, suffix };
  }
  return { metric: entry("self", name, { help: "", kind: "gauge" }), suffix: "" };
}

const merged = (labels: LabelSet, who: Readonly<Record<string, string | undefined>>): LabelSet =>
  labelSet({ ...Object.fromEntries(labels), ...who });

function textsOf(rows: Rows): (name: string, row: number) => string | undefined {
  const columns = new Map(rows.texts.map((column) => [column.name, column]));
  return (name, row) => {
    const column = columns.get(name);
    const place = column?.index[row] ?? -1;
    return place < 0 ? undefined : column?.dictionary[place];
  };
}

function numbersOf(rows: Rows): (name: string, row: number) => number | undefined {
  const columns = new Map(rows.numbers.map((column) => [column.name, column]));
  return (name, row) => {
    const column = columns.get(name);
    return column?.present[row] === 1 ? column.values[row] : undefined;
  };
}
