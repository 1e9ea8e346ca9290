/** The accounting: for every GPU and day, jobs, idle time and unattributed energy add up to the energy counter. */
import { useJson } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import type { Book, BooksResponse } from "./api.ts";
import { SimulatedMark } from "./list.tsx";
import { formatEnergy } from "./words.ts";

export function Books() {
  const { value, error } = useJson<BooksResponse>("api/jobs/books?from=7d", 60_000);
  if (value === undefined)
    return error === undefined || error.status === 0 ? (
      <p class="waiting">Reading the books…</p>
    ) : (
      <Empty title={error.message} />
    );
  const open = value.books.filter(({ closed }) => !closed);
  return (
    <>
      {open.length > 0 ? (
        <Banner
          level="warn"
          title={`${open.length} of ${value.books.length} books do not close within 0.1 %.`}
        >
          Their parts do not add up to the energy counter: see the difference in the table.
        </Banner>
      ) : (
        value.books.length > 0 && (
          <p class="closed">
            All {value.books.length} books of the last seven days close: jobs, idleness and
            unattributed energy add up to the energy counter of each GPU within 0.1 %.
          </p>
        )
      )}
      <Table
        caption="Energy by GPU and day"
        class="stacked jobs"
        columns={columns}
        rows={value.books}
        rowKey={({ day, host, uuid }) => `${day} ${host} ${uuid}`}
        rowLevel={({ closed }) => (closed ? undefined : "warn")}
        empty={<Empty title="No book yet.">The first begins with the second reading.</Empty>}
      />
    </>
  );
}

const energy = (
  key: string,
  label: string,
  of: (book: Book) => number,
  tip?: string,
): TableColumn<Book> => ({
  key,
  label,
  by: of,
  numeric: true,
  cell: (book) => formatEnergy(of(book)),
  ...(tip === undefined ? {} : { tip }),
});

const columns: readonly TableColumn<Book>[] = [
  { key: "day", label: "Day (UTC)", by: ({ day }) => day, cell: ({ day }) => day },
  {
    key: "gpu",
    label: "GPU",
    by: ({ host, gpu }) => `${host} ${String(gpu).padStart(3, "0")}`,
    cell: ({ host, gpu, model, simulated }) => (
      <>
        {host} {gpu} <span class="unit">{model}</span>
        {simulated && <SimulatedMark />}
      </>
    ),
  },
  energy("meter", "Counter", ({ meterJoules }) => meterJoules, "What the energy counter counted."),
  energy("jobs", "Jobs", ({ jobJoules }) => jobJoules),
  energy("idle", "Idle", ({ idleJoules }) => idleJoules, "Nobody held the GPU."),
  energy("unattributed", "Unattributed", ({ unattributedJoules }) => unattributedJoules),
  {
    key: "why",
    label: "Why unattributed",
    by: ({ gaps }) => Object.keys(gaps).join(", ") || undefined,
    cell: ({ gaps }) => Object.keys(gaps).join(", ").replaceAll("_", " ") || "–",
  },
  {
    key: "error",
    label: "Difference",
    by: ({ errorRatio }) => Math.abs(errorRatio),
    numeric: true,
    cell: ({ errorRatio }) => `${(100 * errorRatio).toFixed(3)} %`,
  },
];
