/**
 * Encodes a batch as a remote-write 2.0 request (see decode-v2.ts for the format): every string is stored once, in the order of its
 * first use, with the empty string first; series reference them.
 */
import { ProtoReader } from "../protobuf/reader.ts";
import { ProtoWriter } from "../protobuf/writer.ts";
import { type MetadataLookup, type SampleBatch, groupBySeries } from "../samples/batch.ts";
import { metricTypes } from "./decode-parts.ts";
import { attachedFields } from "./encode-attached.ts";
import { encodeSamples, samplesBytes } from "./encode.ts";

const symbolTag = 0x22;
const seriesTag = 0x2a;
const refsTag = 0x0a;
const metadataTag = 0x2a;
const typeTag = 0x08;
const helpTag = 0x18;
const unitTag = 0x20;

export function encodeWriteRequestV2(batch: SampleBatch, about = ownFamilies(batch)): Buffer {
  const symbols = new Symbols();
  const body = new ProtoWriter(batch.bytes.length + batch.sampleCount * 20 + 64);
  const grouping = groupBySeries(batch);
  const attached = attachedFields(batch, grouping, {
    histogram: 0x1a,
    exemplar: 0x22,
    hasStarts: true,
    putLabels: (writer, labels) => {
      const refs = new ProtoWriter(64);
      for (const label of labels) for (const text of label) refs.varint(symbols.ref(text));
      writer.bytes(refsTag, refs.finish());
    },
  });
  const { order, starts } = attached?.floats ?? grouping;
  for (let series = 0; series < batch.seriesCount; series++) {
    const [first, end] = [starts[series] as number, starts[series + 1] as number];
    const others = attached?.of(series);
    if (first === end && (others === undefined || others.length === 0)) continue;
    const { refs, name } = symbols.refsOf(batch, series);
    const family = about(name);
    body.message(seriesTag, () => {
      body.bytes(refsTag, refs);
      const samples = Buffer.allocUnsafe(samplesBytes(batch, order, first, end));
      encodeSamples(batch, order, first, end, samples, 0);
      body.raw(samples);
      if (others !== undefined) body.raw(others);
      if (family !== undefined)
        body.message(metadataTag, () => {
          body.int(typeTag, Math.max(0, metricTypes.indexOf(family.type)));
          if (family.help !== "") body.int(helpTag, symbols.ref(family.help));
          if (family.unit !== "") body.int(unitTag, symbols.ref(family.unit));
        });
    });
  }
  return Buffer.concat([symbols.finish(), body.finish()]);
}

/** Metadata belongs to a family: that of `x` also describes `x_bucket`, `x_sum` and `x_count`. */
function ownFamilies({ metadata }: SampleBatch): MetadataLookup {
  const families = new Map(metadata.map((known) => [known.family, known]));
  return (name) =>
    families.size === 0
      ? undefined
      : (families.get(name) ?? families.get(name.replace(/_(bucket|sum|count|total|info)$/, "")));
}

class Symbols {
  readonly #refs = new Map<string, number>([["", 0]]);
  readonly #writer = new ProtoWriter();
  readonly #scratch = new ProtoWriter(256);

  constructor() {
    this.#writer.text(symbolTag, "");
  }

  ref(text: string): number {
    const known = this.#refs.get(text);
    if (known !== undefined) return known;
    const made = this.#refs.size;
    this.#refs.set(text, made);
    this.#writer.text(symbolTag, text);
    return made;
  }

  refsOf(batch: SampleBatch, series: number): { refs: Uint8Array; name: string } {
    const scratch = this.#scratch;
    scratch.clear();
    let metricName = "";
    const reader = new ProtoReader(
      batch.bytes,
      batch.labelStarts[series] as number,
      batch.labelEnds[series] as number,
    );
    while (reader.next()) {
      if (reader.field !== 1 || reader.wireType !== 2) {
        reader.skip();
        continue;
      }
      const label = reader.message();
      let [name, value] = ["", ""];
      while (label.next()) {
        if (label.field === 1 && label.wireType === 2) name = label.text();
        else if (label.field === 2 && label.wireType === 2) value = label.text();
        else label.skip();
      }
      if (name === "__name__") metricName = value;
      scratch.varint(this.ref(name));
      scratch.varint(this.ref(value));
    }
    return { refs: scratch.finish(), name: metricName };
  }

  finish(): Buffer {
    return this.#writer.finish();
  }
}
