import { expect, test } from "vitest";
import * as v from "valibot";
import { type ComponentDefinition, parseComponent } from "./component.ts";
import { wholeNumber } from "./fields.ts";

const list: readonly ComponentDefinition[] = [
  {
    name: "sim",
    summary: "",
    mainOption: "gpus",
    options: v.strictObject({
      gpus: v.optional(wholeNumber(1, 100), 8),
      seed: v.optional(wholeNumber(0, 9), 1),
    }),
    examples: [{ url: "sim:8", description: "" }],
  },
  { name: "nvidia", summary: "", options: v.strictObject({}), examples: [] },
  {
    name: "tls",
    summary: "",
    options: v.strictObject({
      ca_file: v.optional(v.string()),
      cert_file: v.optional(v.string()),
      key_file: v.optional(v.string()),
    }),
    examples: [],
  },
];
const parse = (given: string | Record<string, unknown>): unknown =>
  parseComponent({ noun: "source", unknown: "SOURCE_UNKNOWN", list }, given).options;

test.each([
  ["sim:", { gpus: 8, seed: 1 }],
  ["sim:4", { gpus: 4, seed: 1 }],
  ["sim:4?seed=7", { gpus: 4, seed: 7 }],
  ["sim:?gpus=3", { gpus: 3, seed: 1 }],
  [{ sim: { gpus: 4 } }, { gpus: 4, seed: 1 }],
  [{ sim: null }, { gpus: 8, seed: 1 }],
  ["nvidia:", {}],
  ["tls:?ca_file=a", { ca_file: "a" }],
  // The deprecated spelling of the same options.
  ["tls:?ca=a&cert=b&key=c", { ca_file: "a", cert_file: "b", key_file: "c" }],
  [{ tls: { ca: "a" } }, { ca_file: "a" }],
])("%j is read", (given, options) => expect(parse(given)).toEqual(options));

test.each([
  ["sin:8", 'There is no source "sin" (in "sin:8"). Did you mean "sim"?'],
  ["kafka:x", 'There is no source "kafka" (in "kafka:x"). Known: sim, nvidia, tls.'],
  ["sim", '"sim" is not a source: write NAME:… such as "sim:8". Write "sim:" with a colon.'],
  [
    "sim:x",
    'source "sim:x": "gpus" must be a whole number from 1 to 100, not "x". It takes: gpus, seed.',
  ],
  ["sim:8?sed=1", 'source "sim:8?sed=1": unknown key "sed". Did you mean "seed"?'],
  ["tls:?ca=a&ca_file=b", 'unknown key "ca". Known keys: ca_file, '],
  ["sim:?ca=a", 'unknown key "ca"'],
  ["nvidia:0", 'source "nvidia:" takes nothing after the colon, but got "0".'],
  ["sim:%E0%A4%A", 'source "sim:%E0%A4%A": the text after the colon has a broken %-escape.'],
  [{ sim: {}, nvidia: {} }, 'Each source is one key, its name, such as "sim: {…}".'],
])("%j is refused: %s", (given, sentence) => expect(() => parse(given)).toThrow(sentence));
