/**
 * Selects the columns of a table that fit, and their widths: the least important column is dropped first, and the remaining space
 * is distributed.
 */
import type { Glyphs } from "../text/glyphs.ts";
import { fitRow, inverted, span, type TextRow, type TextSpan } from "../text/row.ts";
import { fit, textWidth } from "../text/width.ts";

export interface ScreenColumn<Item, Key extends string> {
  readonly title: string;
  readonly sort?: Key;
  readonly min: number;
  /** The width that every column gets before any grows beyond it. */
  readonly good?: number;
  readonly max: number;
  /** 1 is dropped last. */
  readonly rank: number;
  /** Shown only if every other column has its good width. */
  readonly isExtra?: boolean;
  readonly align?: "right";
  cell(item: Item, width: number): TextRow;
}

export interface PlacedColumn<Item, Key extends string> {
  readonly column: ScreenColumn<Item, Key>;
  readonly from: number;
  readonly width: number;
}

export function placeColumns<Item, Key extends string>(
  columns: readonly ScreenColumn<Item, Key>[],
  width: number,
): readonly PlacedColumn<Item, Key>[] {
  const gap = width >= 110 ? 2 : 1;
  let left = width;
  const kept = new Map<ScreenColumn<Item, Key>, number>();
  const ranked = columns.toSorted((one, other) => one.rank - other.rank);
  const keep = (isExtra: boolean): void => {
    for (const column of ranked) {
      if ((column.isExtra ?? false) !== isExtra) continue;
      const need = column.min + (kept.size === 0 ? 0 : gap);
      if (need > left) continue;
      kept.set(column, column.min);
      left -= need;
    }
  };
  keep(false);
  for (const column of ranked) {
    const now = kept.get(column);
    if (now === undefined || column.good === undefined) continue;
    const more = Math.min(left, Math.max(0, Math.min(column.good, column.max) - now));
    kept.set(column, now + more);
    left -= more;
  }
  keep(true);
  // Evenly, so that adjacent bars have equal length; a column at its maximum leaves its share to the others.
  for (let grown = true; grown && left > 0;) {
    grown = false;
    for (const column of columns) {
      const now = kept.get(column);
      if (now === undefined || now >= column.max || left === 0) continue;
      kept.set(column, now + 1);
      left -= 1;
      grown = true;
    }
  }
  let from = 0;
  return columns.flatMap((column) => {
    const wide = kept.get(column);
    if (wide === undefined) return [];
    const placed = { column, from, width: wide };
    from += wide + gap;
    return [placed];
  });
}

export function tableRow<Item, Key extends string>(
  placed: readonly PlacedColumn<Item, Key>[],
  item: Item,
  width: number,
  isChosen: boolean,
): TextRow {
  const spans: TextSpan[] = [];
  let at = 0;
  for (const { column, from, width: wide } of placed) {
    if (from > at) spans.push(span(" ".repeat(from - at)));
    spans.push(...fitRow(column.cell(item, wide), wide));
    at = from + wide;
  }
  const row = fitRow(spans, width);
  return isChosen ? inverted(row) : row;
}

export function headRow<Item, Key extends string>(
  placed: readonly PlacedColumn<Item, Key>[],
  sort: { readonly key: Key; readonly isDescending: boolean },
  width: number,
  glyphs: Glyphs,
  isFocused: boolean,
): TextRow {
  const spans: TextSpan[] = [];
  let at = 0;
  for (const { column, from, width: wide } of placed) {
    if (from > at) spans.push(span(" ".repeat(from - at), "head"));
    const isSorted = column.sort === sort.key;
    const mark = isSorted ? (sort.isDescending ? glyphs.down : glyphs.up) : "";
    const title = fit(column.title, Math.min(textWidth(column.title), wide - textWidth(mark)));
    const role = isSorted && isFocused ? "strong" : "head";
    spans.push(span(fit(title + mark, wide, column.align), role));
    at = from + wide;
  }
  return fitRow(spans, width);
}

export const textCell = (text: string, width: number, align?: "right"): TextRow => [
  span(fit(text, width, align)),
];
