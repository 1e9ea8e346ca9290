/** Decodes the bytes of a `gpu_metrics` file into its members by name. All-ones means "not reported". Pure, and never throws. */
import {
  failed,
  present,
  type ReadResult,
  unsupported,
} from "../../../machine/sysfs/read-result.ts";
import {
  attributeNames,
  attributeTypeBytes,
  attributeTypes,
  gigatransfersUnit,
  parseAttribute,
} from "./attributes.ts";
import {
  type FieldName,
  type FieldType,
  type Member,
  type MetricsLayout,
  metricsLayouts,
} from "./layouts.ts";

export interface GpuMetrics {
  readonly format: number;
  readonly content: number;
  /** The member's values in raw units; undefined if the chip does not report one. */
  readonly fields: ReadonlyMap<FieldName, readonly (number | undefined)[]>;
}

const headerBytes = 4;

/** An unknown version or size is `unsupported`; a header that contradicts the file is `failed`. */
export function decodeGpuMetrics(bytes: Buffer): ReadResult<GpuMetrics> {
  if (bytes.length < headerBytes) return failed;
  const sizeBytes = bytes.readUInt16LE(0);
  const format = bytes.readUInt8(2);
  const content = bytes.readUInt8(3);
  if (sizeBytes < headerBytes || sizeBytes > bytes.length) return failed;
  const table = bytes.subarray(0, sizeBytes);
  if (format === 1 && content === 9) {
    const fields = decodeAttributes(table);
    return fields === undefined ? failed : present({ format, content, fields });
  }
  const layout = layoutFor(format, content, sizeBytes);
  return layout === undefined
    ? unsupported
    : present({ format, content, fields: decodeMembers(table, layout) });
}

function layoutFor(format: number, content: number, sizeBytes: number): MetricsLayout | undefined {
  const version = `${format}.${content}`;
  return metricsLayouts.find(
    (layout) => layout.version === version && layout.sizeBytes === sizeBytes,
  );
}

const memberBytes: Readonly<Record<FieldType, number>> = { u8: 1, u16: 2, u32: 4, u64: 8 };

/** Each member with its offset, and the total size, in a C compiler's struct layout. */
export function placeMembers(members: readonly Member[]): {
  readonly placed: readonly { readonly member: Member; readonly offset: number }[];
  readonly sizeBytes: number;
} {
  let end = headerBytes;
  let alignment = 2;
  const placed = members.map((member) => {
    const [type, , count = 1] = member;
    const width = memberBytes[type];
    alignment = Math.max(alignment, width);
    const offset = alignUp(end, width);
    end = offset + width * count;
    return { member, offset };
  });
  return { placed, sizeBytes: alignUp(end, alignment) };
}

const alignUp = (offset: number, alignment: number): number =>
  Math.ceil(offset / alignment) * alignment;

interface Placement {
  readonly name: FieldName;
  readonly type: FieldType;
  readonly offset: number;
  readonly count: number;
}

const placements = new Map<MetricsLayout, readonly Placement[]>();

function placementsOf(layout: MetricsLayout): readonly Placement[] {
  const known = placements.get(layout);
  if (known !== undefined) return known;
  const made = placeMembers(layout.members).placed.flatMap(
    ({ member: [type, name, count = 1], offset }) =>
      name === "" ? [] : [{ name, type, offset, count }],
  );
  placements.set(layout, made);
  return made;
}

function decodeMembers(table: Buffer, layout: MetricsLayout): GpuMetrics["fields"] {
  const fields = new Map<FieldName, (number | undefined)[]>();
  for (const { name, type, offset, count } of placementsOf(layout)) {
    const width = memberBytes[type];
    const values = Array.from({ length: count }, (_, index) =>
      unsigned(table, offset + index * width, width),
    );
    // A member that every partition has is read as one list.
    fields.set(name, [...(fields.get(name) ?? []), ...values]);
  }
  return fields;
}

function decodeAttributes(table: Buffer): GpuMetrics["fields"] | undefined {
  const countEnd = headerBytes + 4;
  if (table.length < countEnd) return undefined;
  const count = table.readInt32LE(headerBytes);
  if (count < 0) return undefined;
  const fields = new Map<FieldName, (number | undefined)[]>();
  let offset = countEnd;
  for (let number = 0; number < count; number++) {
    if (offset + 8 > table.length) return undefined;
    const { id, unit, type, instances } = parseAttribute(table.readBigUInt64LE(offset));
    const width = attributeTypeBytes[type];
    const start = offset + 8;
    if (width === undefined || start + width * instances > table.length) return undefined;
    offset = start + width * instances;
    const name = attributeNames[id];
    if (name === undefined) continue;
    const isSigned = attributeTypes[type]?.startsWith("s") ?? false;
    const scale = name === "pcieSpeed" && unit === gigatransfersUnit ? 10 : 1;
    const values = Array.from({ length: instances }, (_, index) =>
      isSigned
        ? signed(table, start + index * width, width)
        : unsigned(table, start + index * width, width),
    );
    fields.set(
      name,
      values.map((value) => (value === undefined ? undefined : value * scale)),
    );
  }
  return fields;
}

/** Values beyond 2^53 lose their last bits, which are microjoules. */
function unsigned(table: Buffer, offset: number, width: number): number | undefined {
  const value =
    width === 8 ? Number(table.readBigUInt64LE(offset)) : table.readUIntLE(offset, width);
  return value >= 2 ** (8 * width) - 1 ? undefined : value;
}

/** The driver fills signed members with all-ones too, so -1 means "not reported". */
function signed(table: Buffer, offset: number, width: number): number | undefined {
  const value = width === 8 ? Number(table.readBigInt64LE(offset)) : table.readIntLE(offset, width);
  return value === -1 ? undefined : value;
}
