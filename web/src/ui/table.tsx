/** A table that sorts by its heads and renders only the visible rows, so that two thousand cost no more than forty. */
import type { ComponentChild } from "preact";
import { useRef, useState } from "preact/hooks";
import { density } from "../view-state/preferences.ts";
import { nextTableSort, sortedRows, type TableSort } from "./table-sort.ts";
import { useRowHeight, useWindow } from "./window.ts";

export interface TableColumn<Row> {
  readonly key: string;
  readonly label: string;
  readonly cell: (row: Row) => ComponentChild;
  /** The sort value; without it the column cannot be sorted. Undefined values are last in both directions. */
  readonly by?: (row: Row) => number | string | undefined;
  readonly numeric?: boolean;
  /** Meaning of the column. */
  readonly tip?: string;
  readonly rowTip?: (row: Row) => string | undefined;
  readonly family?: string;
}

export interface TableProps<Row> {
  /** Caption for screen readers. */
  readonly caption: string;
  readonly columns: readonly TableColumn<Row>[];
  /** Undefined until the first result: the table says that it loads, not that it is empty. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row) => string;
  /** The sort order, if the caller stores it, for example in the address; otherwise the table does. */
  readonly sort?: { value: TableSort | undefined };
  readonly empty?: ComponentChild;
  readonly rowLevel?: (row: Row) => "warn" | "bad" | undefined;
  readonly class?: string;
}

/** Up to this number every row is rendered, and rows may have any height. */
const ALL_DRAWN = 200;

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rowKey } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [own, setOwn] = useState<TableSort | undefined>(undefined);
  const sort = props.sort === undefined ? own : props.sort.value;
  const setSort = (next: TableSort): void => {
    if (props.sort === undefined) setOwn(next);
    else props.sort.value = next;
  };
  const rows = props.rows ?? [];
  const ordered = sortedRows(rows, columns.find(({ key }) => key === sort?.key)?.by, sort);
  const rowPx = useRowHeight(density.value);
  const virtual = ordered.length > ALL_DRAWN;
  const seen = useWindow(body, rowPx, ordered.length);
  const { first, last } = virtual ? seen : { first: 0, last: ordered.length };
  return (
    <div class={`table-wrap ${props.class ?? ""}`}>
      <table
        class="table"
        aria-rowcount={ordered.length + 1}
        data-virtual={virtual ? "" : undefined}
        style={{ "--row": `${rowPx}px` }}
      >
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Head key={column.key} {...{ column, sort, setSort }} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          <Space rowsHigh={first} columns={columns.length} />
          {ordered.slice(first, last).map((row, at) => (
            <tr key={rowKey(row)} aria-rowindex={first + at + 2} data-level={props.rowLevel?.(row)}>
              {columns.map(({ key, label, cell, numeric, rowTip, family }) => (
                <td
                  key={key}
                  class={numeric === true ? "numeric" : undefined}
                  data-column={key}
                  data-label={label}
                  data-family={family}
                  data-tip={rowTip?.(row)}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          <Space rowsHigh={ordered.length - last} columns={columns.length} />
          {ordered.length === 0 && (
            <tr class="none">
              <td colSpan={columns.length}>
                {props.rows === undefined ? "Loading…" : (props.empty ?? "Nothing to show.")}
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function Head<Row>({
  column: { key, label, by, numeric, tip },
  sort,
  setSort,
}: {
  column: TableColumn<Row>;
  sort: TableSort | undefined;
  setSort: (next: TableSort) => void;
}) {
  const chosen = sort?.key === key;
  return (
    <th
      scope="col"
      class={numeric === true ? "numeric" : undefined}
      data-column={key}
      data-tip={by === undefined ? tip : undefined}
      aria-sort={
        by === undefined
          ? undefined
          : chosen
            ? sort.descending
              ? "descending"
              : "ascending"
            : "none"
      }
      // The whole cell sorts; clicks and keys on the button bubble up to here.
      onClick={
        by === undefined ? undefined : () => setSort(nextTableSort(sort, key, numeric === true))
      }
    >
      {by === undefined ? (
        label
      ) : (
        <button type="button" data-tip={tip}>
          {label}
          <span class="arrow" aria-hidden="true">
            {chosen ? (sort.descending ? "↓" : "↑") : ""}
          </span>
        </button>
      )}
    </th>
  );
}

/** Takes the space of the rows that are not rendered. */
const Space = ({ rowsHigh, columns }: { rowsHigh: number; columns: number }) =>
  rowsHigh === 0 ? null : (
    <tr class="space" aria-hidden="true" style={{ "--rows": rowsHigh }}>
      <td colSpan={columns} />
    </tr>
  );
