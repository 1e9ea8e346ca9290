/**
 * A request's body: the format's magic bytes and version, then records, each with its kind and length so that newer kinds can be
 * skipped.
 */
import type { Device } from "../../model/device.ts";
import type { MetricEntry } from "../../model/catalogue/index.ts";
import { ByteReader, ByteWriter, FramesError, hashOf, limits } from "./bytes.ts";
import { decodeDevices, decodeLayout, type LayoutDefinition } from "./layout.ts";
import { FrameDecoder, type FrameHead, type PushFrame } from "./frame.ts";
import { decodeHello, type Hello } from "./hello.ts";
import { decodeMetric } from "./metric.ts";

export const contentType = "application/x-gpulse-frames";
export const formatVersion = 1;
const mark = Buffer.from("gpulse");

export const recordKind = {
  hello: 1,
  metric: 2,
  layout: 3,
  devices: 4,
  frame: 5,
  /** The agent stops intentionally. */
  goodbye: 6,
} as const;

export class RequestWriter {
  readonly #bytes = new ByteWriter();

  constructor() {
    this.#bytes.raw(mark);
    this.#bytes.byte(formatVersion);
  }

  get length(): number {
    return this.#bytes.length;
  }

  record(kind: number, content: Uint8Array): void {
    this.#bytes.varint(kind);
    this.#bytes.varint(content.length);
    this.#bytes.raw(content);
  }

  finish(): Buffer {
    return this.#bytes.finish();
  }
}

/** An unsupported version of the format; the response lists the supported ones. */
export class VersionError extends FramesError {}

/** The definitions that the reader of a request has, and to which it adds. */
export interface DefinitionStore {
  /** Undefined if the layout or one of its metrics is unknown; the reader then only collects further unknown definitions. */
  layout(hash: string): Pick<LayoutDefinition, "resolutions"> | undefined;
  learnLayout(layout: LayoutDefinition): void;
  learnDevices(hash: string, devices: readonly Device[]): void;
  learnMetric(metric: MetricEntry): void;
}

export interface PushRequest {
  readonly hello: Hello;
  /** The frames whose layout is known. */
  readonly frames: readonly PushFrame[];
  /** The heads of all frames, including those that could not be read because their layout is unknown. */
  readonly heads: readonly FrameHead[];
  readonly goodbye: boolean;
  /** Record kinds newer than this reader. */
  readonly unknownKinds: readonly number[];
}

/** `greet` receives the sender first and returns its known definitions. @throws FramesError */
export function readRequest(
  body: Uint8Array,
  greet: (hello: Hello) => DefinitionStore,
): PushRequest {
  const reader = new ByteReader(body);
  checkMark(reader);
  const records = listRecords(reader);
  const first = records[0];
  if (first?.kind !== recordKind.hello) throw new FramesError("the first record is not a hello");
  const hello = decodeHello(first.content);
  const known = greet(hello);
  const decoder = new FrameDecoder();
  const heads: FrameHead[] = [];
  const frames: PushFrame[] = [];
  const unknownKinds = new Set<number>();
  let goodbye = false;
  const isOnly = records.filter(({ kind }) => kind === recordKind.frame).length === 1;
  for (const { kind, content } of records) {
    if (content === first.content) continue;
    if (kind === recordKind.metric) known.learnMetric(decodeMetric(content));
    else if (kind === recordKind.layout) known.learnLayout(decodeLayout(content));
    else if (kind === recordKind.devices)
      known.learnDevices(hashOf(content), decodeDevices(content));
    else if (kind === recordKind.goodbye) goodbye = true;
    else if (kind === recordKind.frame) {
      const bytes = new ByteReader(content);
      const head = decoder.head(bytes);
      heads.push(head);
      const layout = known.layout(head.layout);
      if (layout !== undefined) frames.push(decoder.body(bytes, head, layout.resolutions, isOnly));
    } else unknownKinds.add(kind);
  }
  return { hello, heads, frames, goodbye, unknownKinds: [...unknownKinds] };
}

function checkMark(reader: ByteReader): void {
  if (reader.left < mark.length + 1 || !reader.raw(mark.length).equals(mark))
    throw new FramesError("this is not a request of a gpulse agent");
  const version = reader.byte();
  if (version !== formatVersion)
    throw new VersionError(`version ${version} of the format is not known here`);
}

function listRecords(reader: ByteReader): { kind: number; content: Buffer }[] {
  const records: { kind: number; content: Buffer }[] = [];
  while (reader.left > 0) {
    const kind = reader.varint();
    const content = reader.raw(reader.varint());
    if (records.push({ kind, content }) > limits.records)
      throw new FramesError(`more than ${limits.records} records in one request`);
  }
  return records;
}
