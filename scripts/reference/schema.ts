/** Converts a valibot schema to rows of documentation. */
import type { GenericSchema } from "valibot";

/** The relevant fields of a valibot schema: every kind of schema has some of them. */
interface Piece {
  readonly type?: string;
  readonly kind?: string;
  readonly description?: string;
  readonly metadata?: { readonly takes?: string };
  readonly entries?: Readonly<Record<string, Piece>>;
  readonly item?: Piece;
  readonly wrapped?: Piece;
  readonly default?: unknown;
  readonly options?: readonly (string | Piece)[];
  readonly literal?: string | number;
  readonly pipe?: readonly Piece[];
}

export interface FieldDoc {
  readonly path: string;
  readonly takes: string;
  readonly fallback: string;
  readonly description: string;
}

/** One row per key, nested keys with dots. */
export function describeSchema(schema: GenericSchema): FieldDoc[] {
  return describeFields(schema, "");
}

function describeFields(schema: Piece, prefix: string): FieldDoc[] {
  const { entries } = unwrap(schema);
  if (entries === undefined) return [];
  return Object.entries(entries).flatMap(([key, field]) => {
    const path = `${prefix}${key}`;
    const nested = describeFields(field, `${path}.`);
    return [
      {
        path,
        takes: takes(field),
        fallback: fallbackOf(field),
        description: descriptionOf(field),
      },
      ...nested,
    ];
  });
}

/** The schema inside optional and pipe. */
function unwrap(piece: Piece): Piece {
  if (piece.wrapped !== undefined) return unwrap(piece.wrapped);
  const first = piece.pipe?.[0];
  return first !== undefined && first !== piece && piece.entries === undefined
    ? unwrap(first)
    : piece;
}

function descriptionOf(piece: Piece): string {
  const own = piece.pipe?.map(({ description }) => description).find((text) => text !== undefined);
  return own ?? (piece.wrapped === undefined ? "" : descriptionOf(piece.wrapped));
}

function takes(piece: Piece): string {
  if (piece.wrapped !== undefined) return takes(piece.wrapped);
  const reported = piece.pipe
    ?.map(({ metadata }) => metadata?.takes)
    .find((text) => text !== undefined);
  if (reported !== undefined) return reported;
  const picked =
    piece.pipe?.find(({ type }) => type === "picklist") ??
    (piece.type === "picklist" ? piece : undefined);
  if (picked?.options !== undefined)
    return picked.options
      .map((option) => (typeof option === "string" ? `\`${option}\`` : takes(option)))
      .join(", ");
  // A pipe has its first schema's own fields, and that schema may itself be a pipe with more metadata.
  const first = piece.pipe?.[0];
  if (first?.pipe !== undefined && first !== piece) return takes(first);
  if (piece.type === "union") {
    const ways = (piece.options ?? []).map((way) => (typeof way === "string" ? way : takes(way)));
    return [...new Set(ways)].join(" or ");
  }
  if (piece.literal !== undefined) return `\`${piece.literal}\``;
  if (piece.entries !== undefined) return "mapping";
  if (piece.item !== undefined) return `list of: ${takes(piece.item)}`;
  return piece.type === "string" ? "text" : (piece.type ?? "value");
}

/** Empty for an empty mapping or list: nothing is set then. */
function fallbackOf({ default: value }: Piece): string {
  if (value === undefined) return "";
  const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
  if (isEmpty) return "";
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}
