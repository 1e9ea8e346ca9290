/** What remote-write 2.0 tells with every series, type, help and unit, gathered once for each family of a request. */
import type { ProtoReader } from "../protobuf/reader.ts";
import type { Metadata } from "../samples/batch.ts";
import { metricTypes } from "./decode-parts.ts";
import type { SymbolTable } from "./decode-symbols.ts";

const metricName = new TextEncoder().encode("__name__");
const suffixes: Readonly<Record<string, RegExp>> = {
  histogram: /_(bucket|count|sum)$/,
  gaugehistogram: /_(bucket|gcount|gsum)$/,
  summary: /_(count|sum)$/,
};

export class FamilyMetadataTable {
  readonly #symbols: SymbolTable;
  /** By the reference of the metric's name: most series of a request share theirs with others. */
  readonly #byName = new Map<number, Metadata | undefined>();

  constructor(symbols: SymbolTable) {
    this.#symbols = symbols;
  }

  learn(reader: ProtoReader, refs: Uint32Array, refCount: number): void {
    const name = this.#nameOf(refs, Math.min(refCount, refs.length));
    if (name === undefined || this.#byName.has(name)) return;
    let [type, help, unit] = [0, 0, 0];
    while (reader.next()) {
      if (reader.wireType !== 0) reader.skip();
      else if (reader.field === 1) type = reader.int64();
      else if (reader.field === 3) help = reader.int64();
      else if (reader.field === 4) unit = reader.int64();
      else reader.skip();
    }
    const told = {
      type: metricTypes[type] ?? "unknown",
      help: this.#symbols.text(help) ?? "",
      unit: this.#symbols.text(unit) ?? "",
    };
    const known = type !== 0 || told.help !== "" || told.unit !== "";
    const family = (this.#symbols.text(name) ?? "").replace(suffixes[told.type] ?? /$^/, "");
    this.#byName.set(name, known ? { family, ...told } : undefined);
  }

  list(): readonly Metadata[] {
    const families = new Map<string, Metadata>();
    for (const told of this.#byName.values())
      if (told !== undefined) families.set(told.family, told);
    return [...families.values()];
  }

  #nameOf(refs: Uint32Array, count: number): number | undefined {
    for (let i = 0; i + 1 < count; i += 2)
      if (this.#symbols.is(refs[i] as number, metricName)) return refs[i + 1];
    return undefined;
  }
}
