/** Encodes a metric definition, for a hub whose catalogue does not have it. */
import {
  type MetricEntry,
  type MetricKind,
  type Tier,
  tiers,
  type Unit,
} from "../../model/catalogue/index.ts";
import { ByteReader, ByteWriter, FramesError, limits } from "./bytes.ts";

const kinds: readonly MetricKind[] = ["gauge", "counter", "histogram", "info"];
const subjects: readonly MetricEntry["subject"][] = ["device", "host", "workload", "self"];
const units: readonly Unit[] = [
  "none",
  "ratio",
  "bytes",
  "celsius",
  "watts",
  "joules",
  "hertz",
  "volts",
  "rpm",
  "seconds",
  "bytes_per_second",
];

export function encodeMetric(metric: MetricEntry): Buffer {
  const bytes = new ByteWriter();
  bytes.text(metric.name);
  bytes.text(metric.kind);
  bytes.text(metric.unit);
  bytes.text(metric.subject);
  bytes.text(metric.tier);
  bytes.float(metric.resolution);
  bytes.text(metric.help);
  const buckets = metric.buckets ?? [];
  bytes.varint(buckets.length);
  for (const bucket of buckets) bytes.float(bucket);
  return bytes.finish();
}

/** An unknown kind, unit, subject or tier of a newer agent becomes the default one. @throws FramesError */
export function decodeMetric(content: Uint8Array): MetricEntry {
  const reader = new ByteReader(content);
  const name = reader.text(limits.nameBytes);
  if (!/^[a-zA-Z_:][a-zA-Z0-9_:]{0,254}$/.test(name))
    throw new FramesError("a metric has no valid name");
  const kind = oneOf(kinds, reader.text(limits.nameBytes), "gauge");
  const unit = oneOf(units, reader.text(limits.nameBytes), "none");
  const subject = oneOf(subjects, reader.text(limits.nameBytes), "self");
  const tier = oneOf<Tier>(tiers, reader.text(limits.nameBytes), "fast");
  const resolution = reader.float();
  if (!(resolution > 0)) throw new FramesError(`the resolution of ${name} is invalid`);
  const help = reader.text(limits.helpBytes);
  const buckets = Array.from({ length: reader.count("buckets", limits.buckets, 8) }, () =>
    reader.float(),
  );
  return {
    name,
    kind,
    unit,
    subject,
    tier,
    resolution,
    help,
    plausible: [-Number.MAX_VALUE, Number.MAX_VALUE],
    labels: [],
    given: {},
    ...(buckets.length === 0 ? {} : { buckets }),
  };
}

function oneOf<Word extends string>(known: readonly Word[], word: string, otherwise: Word): Word {
  return known.find((one) => one === word) ?? otherwise;
}
