/** A table's rows before encoding or after decoding, in columns: no object per row, and cheap to transfer to a thread. */

export type ColumnKind = "time" | "text" | "number" | "integer" | "boolean";

export interface ColumnSpec {
  readonly name: string;
  readonly kind: ColumnKind;
  /** True for a column without nulls. */
  readonly required?: boolean;
}

/** The lake's tables: GPU readings, other series, and hourly usage of jobs. */
export const tableNames = ["gpu", "series", "jobs"] as const;
export type TableName = (typeof tableNames)[number];
/** Tables whose files are in the manifest. A hub rewrites its job files under the same names as jobs end. */
export const committedTables = ["gpu", "series"] as const satisfies TableName[];
export type CommittedTable = (typeof committedTables)[number];

export interface TextColumn {
  readonly name: string;
  readonly dictionary: readonly string[];
  /** Indices into the dictionary; -1 is null. */
  readonly index: Int32Array;
}

export interface NumberColumn {
  readonly name: string;
  readonly values: Float64Array;
  /** 1 if there is a value: a missing value is null in the file, never 0. */
  readonly present: Uint8Array;
}

export interface Rows {
  readonly table: TableName;
  readonly count: number;
  readonly times: Float64Array;
  readonly texts: readonly TextColumn[];
  readonly numbers: readonly NumberColumn[];
}

class GrowingText {
  readonly dictionary: string[] = [];
  index: Int32Array;
  readonly #places = new Map<string, number>();

  constructor(capacity: number) {
    this.index = new Int32Array(capacity).fill(-1);
  }

  place(text: string): number {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    this.#places.set(text, this.dictionary.length);
    return this.dictionary.push(text) - 1;
  }
}

/** A column of numbers; its arrays are replaced as the rows grow. */
export class GrowingNumber {
  values: Float64Array;
  present: Uint8Array;

  constructor(capacity: number) {
    this.values = new Float64Array(capacity);
    this.present = new Uint8Array(capacity);
  }
}

/** Rows being collected. A row is looked up by key and time, so that the values of one instant share a row. */
export class GrowingRows {
  readonly table: TableName;
  count = 0;
  #capacity = 1_024;
  #times = new Float64Array(this.#capacity);
  readonly #texts = new Map<string, GrowingText>();
  readonly #numbers = new Map<string, GrowingNumber>();
  readonly #found = new Map<string, Map<number, number>>();
  /** The offset of the last record that contributed to each row. */
  #offsets: Float64Array | undefined;
  /** The offset of the record that is being added, for rows from a log. */
  offset: number | undefined;

  constructor(table: TableName) {
    this.table = table;
  }

  /** The approximate memory use. */
  get bytes(): number {
    return this.#capacity * (16 + this.#texts.size * 4 + this.#numbers.size * 9) + this.count * 40;
  }

  /** Returns the row with this key and time, adding it if needed. */
  row(who: string, timeMs: number): number {
    let of = this.#found.get(who);
    if (of === undefined) this.#found.set(who, (of = new Map<number, number>()));
    let row = of.get(timeMs);
    if (row === undefined) {
      if (this.count === this.#capacity) this.#grow();
      row = this.count++;
      of.set(timeMs, row);
      this.#times[row] = timeMs;
    }
    if (this.offset !== undefined)
      (this.#offsets ??= new Float64Array(this.#capacity))[row] = this.offset;
    return row;
  }

  /** The rows that contain a record for which `isWanted`, and the first such record; undefined if there is none. */
  rowsOf(
    isWanted: (offset: number) => boolean,
  ): { readonly rows: readonly number[]; readonly first: number } | undefined {
    const rows: number[] = [];
    let first = Number.POSITIVE_INFINITY;
    for (let row = 0; row < this.count; row++) {
      const offset = this.#offsets?.[row] ?? 0;
      if (!isWanted(offset)) continue;
      rows.push(row);
      first = Math.min(first, offset);
    }
    return rows.length === 0 ? undefined : { rows, first };
  }

  has(who: string): boolean {
    return this.#found.has(who);
  }

  setText(row: number, name: string, text: string | undefined): void {
    if (text === undefined) return;
    let column = this.#texts.get(name);
    if (column === undefined) this.#texts.set(name, (column = new GrowingText(this.#capacity)));
    column.index[row] = column.place(text);
  }

  /** The column of this name, adding it if needed: a caller that fills many rows looks it up once. */
  numbers(name: string): GrowingNumber {
    let column = this.#numbers.get(name);
    if (column === undefined) this.#numbers.set(name, (column = new GrowingNumber(this.#capacity)));
    return column;
  }

  setNumber(row: number, name: string, value: number): void {
    const column = this.numbers(name);
    column.values[row] = value;
    column.present[row] = 1;
  }

  finish(): Rows {
    const { table, count } = this;
    return {
      table,
      count,
      times: this.#times.subarray(0, count),
      texts: [...this.#texts].map(([name, { dictionary, index }]) => ({
        name,
        dictionary,
        index: index.subarray(0, count),
      })),
      numbers: [...this.#numbers].map(([name, { values, present }]) => ({
        name,
        values: values.subarray(0, count),
        present: present.subarray(0, count),
      })),
    };
  }

  #grow(): void {
    this.#capacity *= 2;
    const times = new Float64Array(this.#capacity);
    times.set(this.#times);
    this.#times = times;
    if (this.#offsets !== undefined) {
      const offsets = new Float64Array(this.#capacity);
      offsets.set(this.#offsets);
      this.#offsets = offsets;
    }
    for (const column of this.#texts.values()) {
      const index = new Int32Array(this.#capacity).fill(-1);
      index.set(column.index);
      column.index = index;
    }
    for (const column of this.#numbers.values()) {
      const [values, present] = [new Float64Array(this.#capacity), new Uint8Array(this.#capacity)];
      values.set(column.values);
      present.set(column.present);
      column.values = values;
      column.present = present;
    }
  }
}
