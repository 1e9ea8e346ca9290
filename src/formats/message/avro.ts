/**
 * The stream message as Avro, in the framing of Confluent's schema registry: a byte 0, four bytes with the schema's id, the record.
 * The record has the fields of the JSON message, and one field per column of the lake, null if it has no value.
 */
import { AvroError, type AvroRead, compileAvroReader } from "../avro/read.ts";
import { AvroWriter } from "../avro/writer.ts";
import { columns } from "../../model/columns.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { type MessageDecodeResult, MessageDecoder } from "./decode.ts";
import { type MessageInput, type MessagePart, MessagePlans, reasonAt } from "./encode.ts";
import { messageLimits, messageVersion } from "./schema.ts";

const headerBytes = 5;

/** The id of the message's schema if the message has the framing: JSON begins with a brace. */
export function schemaIdOf(bytes: Uint8Array): number | undefined {
  if (bytes[0] !== 0 || bytes.length < headerBytes) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, headerBytes).readUInt32BE(1);
}

const optional = (type: string) => ({ type: ["null", type], default: null }) as const;
const optionalTexts = ["vendor", "model", "pci_bus_id", "driver", "vbios", "link_type", "parent"];

/**
 * Every field that a later version may add or drop has a default, so that a registry's default compatibility rule (BACKWARD)
 * accepts each version.
 */
export const messageAvroSchema = JSON.stringify({
  type: "record",
  name: "GpuMessage",
  namespace: "gpulse",
  doc: "One GPU, or one machine without a GPU, at one instant.",
  fields: [
    { name: "version", type: "int" },
    { name: "time", type: { type: "long", logicalType: "timestamp-millis" } },
    { name: "host", type: "string" },
    {
      name: "gpu",
      type: [
        "null",
        {
          type: "record",
          name: "Gpu",
          fields: [
            { name: "uuid", type: "string" },
            { name: "index", type: "int" },
            { name: "simulated", type: "boolean", default: false },
            ...optionalTexts.map((name) => ({ name, ...optional("string") })),
          ],
        },
      ],
      default: null,
    },
    {
      name: "values",
      type: {
        type: "record",
        name: "Values",
        fields: columns.map(({ name }) => ({ name, ...optional("double") })),
      },
    },
    { name: "absent", type: { type: "map", values: "string" }, default: {} },
    {
      name: "other",
      type: {
        type: "array",
        items: {
          type: "record",
          name: "Reading",
          fields: [
            { name: "name", type: "string" },
            { name: "labels", type: { type: "map", values: "string" } },
            { name: "value", ...optional("double") },
            { name: "absent", ...optional("string") },
          ],
        },
      },
      default: [],
    },
    { name: "tags", type: { type: "array", items: "string" }, default: [] },
  ],
});

interface Part extends MessagePart {
  /** The slot of each schema column; -1 if the layout does not have it. */
  readonly slotOfColumn: Int32Array;
}

export class AvroMessageEncoder {
  readonly #header = Buffer.alloc(headerBytes);
  readonly #writer = new AvroWriter();
  readonly #plans = new MessagePlans<Part>((part) => ({
    ...part,
    slotOfColumn: Int32Array.from(
      columns,
      (column) => part.columns.find(({ name }) => name === column.name)?.slot ?? -1,
    ),
  }));

  constructor(schemaId: number) {
    this.#header.writeUInt32BE(schemaId, 1);
  }

  encode(input: MessageInput): { readonly key: string; readonly value: Buffer }[] {
    const { frame, host } = input;
    return this.#plans.of(frame.layout, host).map((part) => ({
      key: part.uuid ?? host,
      value: this.#write(part, input),
    }));
  }

  #write(part: Part, { frame, devices, host, tags }: MessageInput): Buffer {
    const writer = this.#writer;
    writer.raw(this.#header);
    writer.long(messageVersion);
    writer.long(frame.timeMs);
    writer.text(host);
    writer.long(part.uuid === undefined ? 0 : 1);
    if (part.uuid !== undefined)
      this.#writeGpu(
        part.uuid,
        part.index,
        devices.find(({ uuid }) => uuid === part.uuid),
      );
    for (const slot of part.slotOfColumn) this.#writeOptional(frame, slot);
    const absent = part.columns.flatMap(({ slot, name }) => {
      const reason = reasonAt(frame, slot);
      return reason === undefined ? [] : ([[name, reason]] as const);
    });
    this.#writeList(absent, ([name, reason]) => (writer.text(name), writer.text(reason)));
    this.#writeList(part.others, ({ slot, name, labels }) => {
      writer.text(name);
      this.#writeList(labels, ([label, value]) => (writer.text(label), writer.text(value)));
      this.#writeOptional(frame, slot);
      this.#writeText(reasonAt(frame, slot));
    });
    const found = part.uuid === undefined ? [] : (tags?.get(part.uuid) ?? []);
    this.#writeList(found, (tag) => writer.text(tag));
    return writer.finish();
  }

  #writeGpu(uuid: string, index: number, device: Device | undefined): void {
    this.#writer.text(uuid);
    this.#writer.long(device?.index ?? index);
    this.#writer.bool(device?.simulated ?? false);
    this.#writeText(device?.vendor);
    this.#writeText(device?.model);
    this.#writeText(device?.pciBusId);
    this.#writeText(device?.driver);
    this.#writeText(device?.vbios);
    this.#writeText(device?.linkType);
    this.#writeText(device?.parent);
  }

  #writeText(text: string | undefined): void {
    this.#writer.long(text === undefined ? 0 : 1);
    if (text !== undefined) this.#writer.text(text);
  }

  #writeOptional(frame: Frame, slot: number): void {
    const isHere = slot >= 0 && reasonAt(frame, slot) === undefined;
    this.#writer.long(isHere ? 1 : 0);
    if (isHere) this.#writer.double(frame.values[slot] ?? 0);
  }

  #writeList<Item>(items: readonly Item[], write: (item: Item) => void): void {
    if (items.length > 0) this.#writer.long(items.length);
    for (const item of items) write(item);
    this.#writer.long(0);
  }
}

/** Any writer to the topic may reference a schema: the cache is bounded. */
const maxSchemas = 1_000;

export class AvroMessageDecoder {
  readonly #reads = new Map<number, AvroRead | AvroError>();
  readonly #messages = new MessageDecoder();

  /** @param schema fetches the JSON of the schema with this id, if it is not cached */
  async decode(
    bytes: Uint8Array,
    id: number,
    schema: (id: number) => Promise<string>,
  ): Promise<MessageDecodeResult> {
    if (bytes.length > messageLimits.bytes)
      return {
        ok: false,
        reason: `the message has ${bytes.length} bytes, more than the ${messageLimits.bytes} that are read`,
      };
    const read = this.#reads.get(id) ?? this.#compile(id, await schema(id));
    try {
      if (read instanceof AvroError) throw read;
      return this.#messages.decodeObject(toMessage(read(bytes.subarray(headerBytes))));
    } catch (thrown) {
      if (!(thrown instanceof AvroError)) throw thrown;
      return {
        ok: false,
        reason: `the message is not Avro of schema ${id}: ${thrown.message}`,
      };
    }
  }

  #compile(id: number, schema: string): AvroRead | AvroError {
    if (this.#reads.size >= maxSchemas) this.#reads.clear();
    let made: AvroRead | AvroError;
    try {
      made = compileAvroReader(schema);
    } catch (thrown) {
      if (!(thrown instanceof AvroError)) throw thrown;
      made = thrown;
    }
    this.#reads.set(id, made);
    return made;
  }
}

/** Converts to the object of the JSON message: without nulls, and with its time as text. */
function toMessage(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new AvroError("it is not a record");
  const message = withoutNulls(value) as Readonly<Record<string, unknown>>;
  const { time } = message;
  if (typeof time !== "number") return message;
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) throw new AvroError("its time is invalid");
  return { ...message, time: date.toISOString() };
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]: readonly [string, unknown]) =>
      one === null ? [] : [[name, withoutNulls(one)]],
    ),
  );
}
