/** Turns an agent's metrics page into frames. Series that the screen does not use are skipped. */
import { formatOf, parsePage } from "../../formats/exposition/parse.ts";
import { SeriesMemory } from "../../formats/exposition/series-memory.ts";
import { readingSpecs } from "../../view/live/columns.ts";
import { findMetric, gpu } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import { taskMetrics } from "./tasks.ts";

interface Handle {
  readonly series: Series | undefined;
  value: number;
}

const wanted: ReadonlySet<string> = new Set(
  [
    ...readingSpecs.flatMap(({ metric, or }) =>
      or === undefined ? [metric] : [metric, or.metric],
    ),
    gpu.throttleActive,
    gpu.bound,
    gpu.xidErrors,
    gpu.xidLast,
    ...taskMetrics,
  ].map(({ name }) => name),
);

export class PageFrames {
  readonly #memory = new SeriesMemory<Handle>();
  #handles: readonly Handle[] = [];
  #layout: Layout = { series: [] };

  /** @throws ExpositionError if the body is not a metrics page */
  read(body: Buffer, contentType: string | undefined, timeMs: number): Frame {
    let isChanged = false;
    parsePage<Handle>(
      body,
      formatOf(contentType) === "openmetrics" ? "openmetrics" : "text",
      this.#memory,
      {
        open: (labels) => {
          isChanged = true;
          return { series: seriesOf(labels), value: Number.NaN };
        },
        sample: (handle, value) => {
          handle.value = value;
        },
      },
    );
    this.#memory.endPage(() => {
      isChanged = true;
    });
    if (isChanged) {
      this.#handles = [...this.#memory.handles()].filter(({ series }) => series !== undefined);
      this.#layout = {
        series: this.#handles.flatMap(({ series }) => (series === undefined ? [] : [series])),
      };
    }
    const values = Float64Array.from(this.#handles, ({ value }) => value);
    return {
      timeMs,
      layout: this.#layout,
      values,
      presence: Uint8Array.from(values, (value) =>
        Number.isNaN(value) ? presence.failed : presence.present,
      ),
    };
  }
}

function seriesOf(labels: LabelSet): Series | undefined {
  const name = labels.find(([key]) => key === "__name__")?.[1] ?? "";
  const metric = wanted.has(name) ? findMetric(name) : undefined;
  if (metric === undefined) return undefined;
  return { metric, suffix: "", labels: labels.filter(([key]) => key !== "__name__") };
}
