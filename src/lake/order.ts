/** The order of rows in a file: by GPU (or series), then by time. Duplicate rows become one with all their values. */
import { sortedBy } from "./schema.ts";
import type { NumberColumn, Rows, TextColumn } from "./table.ts";

/** Sorts rows and joins duplicates. A later row's values take precedence; missing ones come from the earlier row. */
export function sortRows(rows: Rows): Rows {
  const columns = sortedBy[rows.table].map((name) => rows.texts.find((text) => text.name === name));
  const keys = columns.map(rankOf);
  const { times, count } = rows;
  const compare = (a: number, b: number): number => {
    for (const rank of keys) {
      const difference = (rank[a] ?? -1) - (rank[b] ?? -1);
      if (difference !== 0) return difference;
    }
    return (times[a] as number) - (times[b] as number);
  };
  let [isSorted, hasRepeats] = [true, false];
  for (let at = 1; at < count && isSorted; at++) {
    const difference = compare(at - 1, at);
    isSorted = difference <= 0;
    hasRepeats ||= difference === 0;
  }
  // Already sorted, as one GPU's rows from a log are: nothing to move.
  if (isSorted && !hasRepeats) return rows;
  const order = new Uint32Array(count);
  for (let row = 0; row < count; row++) order[row] = row;
  if (!isSorted) order.sort((a, b) => compare(a, b) || a - b);
  const same = (a: number, b: number): boolean =>
    times[a] === times[b] && keys.every((rank) => rank[a] === rank[b]);
  const groups = new Uint32Array(count + 1);
  let rowCount = 0;
  for (let at = 0; at < count; at++) {
    if (at > 0 && same(order[at - 1] as number, order[at] as number)) continue;
    groups[rowCount++] = at;
  }
  groups[rowCount] = count;
  return gather(rows, order, groups, rowCount);
}

function gather(rows: Rows, order: Uint32Array, groups: Uint32Array, count: number): Rows {
  const times = new Float64Array(count);
  for (let row = 0; row < count; row++)
    times[row] = rows.times[order[groups[row] as number] as number] as number;
  const texts = rows.texts.map((column): TextColumn => {
    const index = new Int32Array(count).fill(-1);
    for (let row = 0; row < count; row++)
      for (let at = groups[row] as number; at < (groups[row + 1] as number); at++) {
        const place = column.index[order[at] as number] as number;
        if (place >= 0) index[row] = place;
      }
    return { ...column, index };
  });
  const numbers = rows.numbers.map((column): NumberColumn => {
    const [values, present] = [new Float64Array(count), new Uint8Array(count)];
    for (let row = 0; row < count; row++)
      for (let at = groups[row] as number; at < (groups[row + 1] as number); at++) {
        const from = order[at] as number;
        if (column.present[from] === 0) continue;
        values[row] = column.values[from] as number;
        present[row] = 1;
      }
    return { ...column, values, present };
  });
  return { table: rows.table, count, times, texts, numbers };
}

/** Each row's rank in the sorted order of the column's texts. */
function rankOf(column: TextColumn | undefined): Int32Array {
  if (column === undefined) return new Int32Array();
  const sorted = column.dictionary.map((text, place) => ({ text, place }));
  sorted.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  const ranks = new Int32Array(column.dictionary.length);
  sorted.forEach(({ place }, rank) => (ranks[place] = rank));
  const { index } = column;
  const found = new Int32Array(index.length);
  for (let row = 0; row < index.length; row++) {
    const place = index[row] as number;
    found[row] = place < 0 ? -1 : (ranks[place] as number);
  }
  return found;
}

/** Only the chosen rows, in this order. */
export function selectRows(rows: Rows, chosen: readonly number[]): Rows {
  if (chosen.length === rows.count) return rows;
  const singles = Uint32Array.from({ length: chosen.length + 1 }, (_, at) => at);
  return gather(rows, Uint32Array.from(chosen), singles, chosen.length);
}

/** Concatenates the rows of several files. */
export function joinRows(parts: readonly Rows[]): Rows {
  const [first] = parts;
  if (first === undefined) throw new Error("BUG: nothing to join");
  if (parts.length === 1) return first;
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const times = new Float64Array(count);
  const texts = new Map<
    string,
    { dictionary: string[]; places: Map<string, number>; index: Int32Array }
  >();
  const numbers = new Map<string, { values: Float64Array; present: Uint8Array }>();
  let start = 0;
  for (const part of parts) {
    times.set(part.times, start);
    for (const { name, dictionary, index } of part.texts) {
      let into = texts.get(name);
      if (into === undefined)
        texts.set(
          name,
          (into = { dictionary: [], places: new Map(), index: new Int32Array(count).fill(-1) }),
        );
      const moved = dictionary.map((text) => {
        const known = into.places.get(text);
        if (known !== undefined) return known;
        into.places.set(text, into.dictionary.length);
        return into.dictionary.push(text) - 1;
      });
      for (let row = 0; row < part.count; row++) {
        const place = index[row] as number;
        if (place >= 0) into.index[start + row] = moved[place] as number;
      }
    }
    for (const { name, values, present } of part.numbers) {
      let into = numbers.get(name);
      if (into === undefined)
        numbers.set(
          name,
          (into = { values: new Float64Array(count), present: new Uint8Array(count) }),
        );
      into.values.set(values, start);
      into.present.set(present, start);
    }
    start += part.count;
  }
  return {
    table: first.table,
    count,
    times,
    texts: [...texts].map(([name, { dictionary, index }]) => ({ name, dictionary, index })),
    numbers: [...numbers].map(([name, column]) => ({ name, ...column })),
  };
}
