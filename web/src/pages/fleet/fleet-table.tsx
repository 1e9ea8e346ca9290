/** The GPU table. Only the visible rows are rendered, so that two thousand GPUs cost no more than forty. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Gpu } from "../../../../src/view/gpu.ts";
import { nextSort } from "./sort.ts";
import { move } from "./keys.ts";
import { density } from "../../view-state/preferences.ts";
import { cursor, filter, items, selected, sort, view } from "./view.ts";
import { GroupRow } from "./group-row.tsx";
import { rangeColumns } from "./range-columns.tsx";
import { useStatistics } from "./statistics.ts";
import { goTo } from "../../view-state/address.ts";
import { columns, type FleetColumn, helpOf } from "./columns.tsx";
import { useRowHeight, useWindow } from "../../ui/window.ts";

export function FleetTable() {
  const body = useRef<HTMLTableSectionElement>(null);
  const rowPx = useRowHeight(density.value);
  const all = items.value;
  const shown = view.value === "range" ? rangeColumns : columns;
  const { first, last } = useWindow(body, rowPx, all.length);
  useStatistics(view.value === "range");
  useCursorInSight(body, rowPx);
  return (
    <table
      class="fleet"
      data-view={view.value}
      aria-rowcount={all.length + 1}
      style={{ "--row": `${rowPx}px` }}
      onKeyDown={(event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step !== undefined && move(step)) event.preventDefault();
      }}
    >
      <caption class="unseen">GPUs with their newest readings</caption>
      <thead>
        <tr aria-rowindex={1}>
          {shown.map((column) => (
            <Head key={column.key} column={column} />
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        <Space rowsHigh={first} />
        {all
          .slice(first, last)
          .map((item, at) =>
            item.kind === "gpu" ? (
              <Row key={item.gpu.id} gpu={item.gpu} index={first + at + 2} columns={shown} />
            ) : (
              <GroupRow key={`group ${item.group.name}`} {...item} index={first + at + 2} />
            ),
          )}
        <Space rowsHigh={all.length - last} />
        {all.length === 0 && (
          <tr class="none">
            <td colSpan={shown.length}>
              No GPU matches <q>{filter.value}</q>.{" "}
              <button
                type="button"
                class="link"
                onClick={() => {
                  filter.value = "";
                }}
              >
                Clear the filter
              </button>
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

const classOf = ({ key, numeric, class: own }: FleetColumn): string =>
  `${own ?? `c-${key}`}${numeric === true ? " numeric" : ""}`;

function Head({ column }: { column: FleetColumn }) {
  const { key, label, says } = column;
  const by = sort.value.key === key;
  return (
    <th
      scope="col"
      class={classOf(column)}
      aria-sort={by ? (sort.value.descending ? "descending" : "ascending") : "none"}
      // The whole cell sorts; clicks and keys on the button bubble up to here.
      onClick={() => {
        sort.value = nextSort(sort.value, key);
      }}
    >
      <button type="button" aria-label={says} data-tip={helpOf(column)}>
        {label}
        <span class="arrow" aria-hidden="true">
          {by ? (sort.value.descending ? "↓" : "↑") : ""}
        </span>
      </button>
    </th>
  );
}

function Row({
  gpu,
  index,
  columns: shown,
}: {
  gpu: Gpu;
  index: number;
  columns: readonly FleetColumn[];
}) {
  const { id } = gpu;
  const open = selected.value === id;
  return (
    <tr
      aria-rowindex={index}
      data-uuid={gpu.device.uuid}
      data-state={gpu.state}
      data-open={open ? "" : undefined}
      onClick={(event) => {
        if (event.target instanceof Element && event.target.closest("a") !== null) return;
        cursor.value = id;
        selected.value = open ? undefined : id;
      }}
      onDblClick={() => goTo("gpu", { uuid: id })}
    >
      {shown.map((column) => (
        <td
          key={column.key}
          class={classOf(column)}
          data-family={column.family}
          data-tip={column.tip?.(gpu) || undefined}
        >
          <div>{column.cell(gpu)}</div>
        </td>
      ))}
    </tr>
  );
}

/**
 * Takes the space of the rows that are not rendered. A single cell: a span over columns that a narrow screen hides would create new
 * ones.
 */
const Space = ({ rowsHigh }: { rowsHigh: number }) =>
  rowsHigh === 0 ? null : (
    <tr class="space" aria-hidden="true" style={{ "--rows": rowsHigh }}>
      <td />
    </tr>
  );

/** Scrolls to the row of the keyboard cursor, which may not be rendered yet. */
function useCursorInSight(body: { readonly current: HTMLElement | null }, rowPx: number): void {
  const at = items.value.findIndex((item) => item.kind === "gpu" && item.gpu.id === cursor.value);
  const [seen, setSeen] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (body.current === null || at === -1 || seen === cursor.value) return;
    setSeen(cursor.value);
    const top = body.current.getBoundingClientRect().top + at * rowPx;
    const [highest, lowest] = [rowPx * 2, innerHeight - rowPx * 2];
    if (top < highest) scrollBy({ top: top - highest });
    else if (top > lowest) scrollBy({ top: top - lowest });
  });
}
