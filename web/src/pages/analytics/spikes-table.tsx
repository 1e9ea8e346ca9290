/** Temperatures that rose and fell again within minutes, the highest first. */
import { type Gpu, nameOf } from "../../../../src/view/gpu.ts";
import { idOfLabels } from "../../query/stored.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { formatReadable } from "../../format/readable.ts";
import type { Matrix } from "../../query/columns.ts";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant } from "../../view-state/range.ts";
import { Section } from "./section.tsx";
import { ruleFor, type Spike, spikesIn } from "./spikes.ts";

/** More curves than this are too large a response for one page. */
export const MOST_GPUS = 64;
const MOST_ROWS = 50;
const AROUND_MS = 1_800_000;

interface Row extends Spike {
  readonly id: string;
  readonly name: string;
}

export interface SpikesTableProps {
  readonly matrix: Matrix | undefined;
  readonly known: readonly Gpu[];
  readonly tooMany: boolean;
  readonly stepText: string;
  readonly rangeMs: number;
}

export function SpikesTable({ matrix, known, tooMany, stepText, rangeMs }: SpikesTableProps) {
  const names = new Map(known.map((gpu) => [gpu.id, `${nameOf(gpu)} · ${gpu.device.host}`]));
  const rule = ruleFor(rangeMs);
  const found = (matrix?.series ?? [])
    .flatMap(({ labels, values }) => {
      const id = idOfLabels(labels);
      return spikesIn(values, matrix ?? { startMs: 0, endMs: 0, stepMs: 1 }, rule).map(
        (spike): Row => ({
          ...spike,
          id,
          name: names.get(id) ?? labels["uuid"] ?? "",
        }),
      );
    })
    .sort((one, other) => other.peak - other.usual - (one.peak - one.usual));
  return (
    <Section id="spikes" title="Temperature spikes">
      {tooMany ? (
        <p class="unit">
          Searched in at most {MOST_GPUS} GPUs at a time: choose a host or a GPU above.
        </p>
      ) : (
        <>
          <Table
            caption="Temperature spikes"
            class="stacked"
            columns={columns}
            rows={matrix && found.slice(0, MOST_ROWS)}
            rowKey={({ id, startMs }) => `${id} ${startMs}`}
            empty="None in this range."
          />
          <p class="unit analysis-method">
            A spike: the edge sensor at least {rule.riseCelsius} °C above the median of the{" "}
            {formatAge(rule.aroundMs)} before and after, for at most {formatAge(rule.longestMs)}.
            Seen in steps of {stepText}; the first and last {formatAge(rule.aroundMs)} of the range
            have only one side and are left out
            {found.length > MOST_ROWS && `. Shown are the ${MOST_ROWS} highest of ${found.length}`}.
          </p>
        </>
      )}
    </Section>
  );
}

const columns: readonly TableColumn<Row>[] = [
  {
    key: "when",
    label: "When",
    cell: ({ peakMs, id }) => (
      <a
        href={hrefOf("gpu", {
          uuid: id,
          from: new Date(peakMs - AROUND_MS).toISOString(),
          to: new Date(peakMs + AROUND_MS).toISOString(),
        })}
      >
        {formatInstant(peakMs)}
      </a>
    ),
    by: ({ peakMs }) => peakMs,
  },
  { key: "gpu", label: "GPU", cell: ({ name }) => name, by: ({ name }) => name },
  {
    key: "peak",
    label: "Peak",
    numeric: true,
    cell: ({ peak }) => formatReadable(peak, "celsius"),
    by: ({ peak }) => peak,
  },
  {
    key: "above",
    label: "Above usual",
    numeric: true,
    cell: ({ peak, usual }) => `+${formatReadable(peak - usual, "celsius")}`,
    by: ({ peak, usual }) => peak - usual,
  },
];
