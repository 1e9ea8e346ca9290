/** Reads native histograms in the notation of Prometheus's rule unit tests: `{{schema:1 count:4 sum:7 buckets:[1 2 1]}}`. */
import {
  type Buckets,
  customSchema,
  type Histogram,
  maxSchema,
  minSchema,
  noBounds,
  noBuckets,
  type ResetHint,
} from "./histogram.ts";

const hints: Readonly<Record<string, ResetHint>> = {
  unknown: "unknown",
  reset: "reset",
  not_reset: "no-reset",
  gauge: "gauge",
};
const field = /\s*([a-z_]+):(?:\[([^\]]*)\]|([^\s[\]]+))/y;
const numbers = ["schema", "count", "sum", "z_bucket", "z_bucket_w", "offset", "n_offset"];
const lists = ["buckets", "n_buckets", "custom_values"];

/** @throws Error that quotes the part that cannot be parsed. */
export function readHistogram(text: string): Histogram {
  const inside = /^\{\{(.*)\}\}$/s.exec(text)?.[1];
  if (inside === undefined)
    throw new Error(`"${text}" is not a histogram: write {{count:1 sum:2}}`);
  const single = new Map<string, number>();
  const listed = new Map<string, Float64Array>();
  let resetHint: ResetHint = "unknown";
  field.lastIndex = 0;
  let end = 0;
  for (let found = field.exec(inside); found !== null; found = field.exec(inside)) {
    end = field.lastIndex;
    const [, name = "", list, word] = found;
    if (name === "counter_reset_hint") resetHint = hintOf(word ?? "");
    else if (list !== undefined && lists.includes(name))
      listed.set(name, Float64Array.from(list.split(/\s+/).filter(Boolean), numberOf));
    else if (word !== undefined && numbers.includes(name)) single.set(name, numberOf(word));
    else
      throw new Error(`"${name}" is not a field of a histogram, or its value has the wrong form`);
  }
  const rest = inside.slice(end).trim();
  if (rest !== "") throw new Error(`"${rest}" is not understood in a histogram`);
  const schema = single.get("schema") ?? 0;
  if (schema !== customSchema && !(schema >= minSchema && schema <= maxSchema))
    throw new Error(
      `schema ${schema} is unknown: write ${minSchema} to ${maxSchema}, or ${customSchema}`,
    );
  return {
    resetHint,
    schema,
    zeroThreshold: single.get("z_bucket_w") ?? 0,
    zeroCount: single.get("z_bucket") ?? 0,
    count: single.get("count") ?? 0,
    sum: single.get("sum") ?? 0,
    positive: bucketsFrom(listed.get("buckets"), single.get("offset")),
    negative: bucketsFrom(listed.get("n_buckets"), single.get("n_offset")),
    bounds: listed.get("custom_values") ?? noBounds,
  };
}

function bucketsFrom(counts: Float64Array | undefined, offset = 0): Buckets {
  if (counts === undefined || counts.length === 0) return noBuckets;
  return { indexes: Int32Array.from(counts, (_, at) => offset + at), counts };
}

function hintOf(word: string): ResetHint {
  const hint = hints[word];
  if (hint === undefined)
    throw new Error(`counter_reset_hint is one of ${Object.keys(hints).join(", ")}, not "${word}"`);
  return hint;
}

function numberOf(word: string): number {
  const value = /^[-+]?inf$/i.test(word)
    ? (word.startsWith("-") ? -1 : 1) * Infinity
    : /^nan$/i.test(word)
      ? Number.NaN
      : Number(word);
  if (Number.isNaN(value) && !/^nan$/i.test(word)) throw new Error(`"${word}" is not a number`);
  return value;
}
