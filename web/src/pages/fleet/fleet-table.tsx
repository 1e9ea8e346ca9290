/** The dense table. Only the rows on screen exist, so two thousand GPUs cost no more than forty. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Gpu } from "../../live/gpu.ts";
import { nextSort } from "./sort.ts";
import { move } from "./keys.ts";
import { density } from "../../view-state/tastes.ts";
import { cursor, filter, rows, selected, sort } from "./view.ts";
import type { Column } from "./columns.tsx";
import { columns, helpOf } from "./columns.tsx";
import { useRowHeight, useWindow } from "../../ui/window.ts";

export function FleetTable() {
  const body = useRef<HTMLTableSectionElement>(null);
  const rowPx = useRowHeight(density.value);
  const all = rows.value;
  const { first, last } = useWindow(body, rowPx, all.length);
  useCursorInSight(body, rowPx);
  return (
    <table
      class="fleet"
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
          {columns.map((column) => (
            <Head key={column.key} column={column} />
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        <Space rowsHigh={first} />
        {all.slice(first, last).map((gpu, at) => (
          <Row key={gpu.device.uuid} gpu={gpu} index={first + at + 2} />
        ))}
        <Space rowsHigh={all.length - last} />
        {all.length === 0 && (
          <tr class="none">
            <td colSpan={columns.length}>
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

function Head({ column }: { column: Column }) {
  const { key, label, numeric } = column;
  const by = sort.value.key === key;
  return (
    <th
      scope="col"
      class={`c-${key}${numeric === true ? " numeric" : ""}`}
      aria-sort={by ? (sort.value.descending ? "descending" : "ascending") : "none"}
    >
      <button
        type="button"
        data-tip={helpOf(column)}
        onClick={() => {
          sort.value = nextSort(sort.value, key);
        }}
      >
        {label}
        <span class="arrow" aria-hidden="true">
          {by ? (sort.value.descending ? "↓" : "↑") : ""}
        </span>
      </button>
    </th>
  );
}

function Row({ gpu, index }: { gpu: Gpu; index: number }) {
  const { uuid } = gpu.device;
  const open = selected.value === uuid;
  return (
    <tr
      aria-rowindex={index}
      data-uuid={uuid}
      data-state={gpu.state}
      data-open={open ? "" : undefined}
      onClick={() => {
        cursor.value = uuid;
        selected.value = open ? undefined : uuid;
      }}
    >
      {columns.map(({ key, family, numeric, cell, tip }) => (
        <td
          key={key}
          class={`c-${key}${numeric === true ? " numeric" : ""}`}
          data-family={family}
          data-tip={tip?.(gpu) || undefined}
        >
          <div>{cell(gpu)}</div>
        </td>
      ))}
    </tr>
  );
}

/** Stands for the rows that are not there. */
const Space = ({ rowsHigh }: { rowsHigh: number }) =>
  rowsHigh === 0 ? null : (
    <tr class="space" aria-hidden="true" style={{ "--rows": rowsHigh }}>
      <td colSpan={columns.length} />
    </tr>
  );

/** Scrolls to the keyboard's row, which may not exist yet when it is chosen. */
function useCursorInSight(body: { readonly current: HTMLElement | null }, rowPx: number): void {
  const at = rows.value.findIndex(({ device }) => device.uuid === cursor.value);
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
