import { expect, test } from "vitest";
import { fuzz, fuzzInputs, fuzzTimeoutMs, seededRandom } from "../../../test/fuzz/mutate.ts";
import { batchLines, plainBatch } from "../../../test/fixtures/formats/samples.ts";
import { readLabelBlock } from "../samples/labels.ts";
import { ProtoError } from "../protobuf/reader.ts";
import { LineDecoder, type LineOptions } from "./decode.ts";
import { precisions, readFloat } from "./scan.ts";

const nowMs = 1_790_000_000_000;
/** Shared by all tests: its cache of one request must not affect the next. */
const decoder = new LineDecoder();
const decode = (text: string, extra: Partial<LineOptions> = {}) =>
  decoder.decode(Buffer.from(text), { unitMs: precisions.ns, nowMs, ...extra });

test.each([
  ["m f=1", ["m_f{} 1 @1790000000000"]],
  ["m value=1", ["m{} 1 @1790000000000"]],
  [
    "m,host=a,dc=b f=1,g=2i,h=3u 1790000000123456789",
    [
      'm_f{dc="b",host="a"} 1 @1790000000123',
      'm_g{dc="b",host="a"} 2 @1790000000123',
      'm_h{dc="b",host="a"} 3 @1790000000123',
    ],
  ],
  ["m,Zone=x,zone=y f=1 1000000", ['m_f{Zone="x",zone="y"} 1 @1']],
  [String.raw`my\ m\,x,ta\ g=a\,b\=c f\ 1=-1.5e-3 0`, ['my_m_x_f_1{ta_g="a,b=c"} -0.0015 @0']],
  [
    "m a=t,b=T,c=true,d=TRUE,e=f,g=False 1000000",
    ["m_a{} 1 @1", "m_b{} 1 @1", "m_c{} 1 @1", "m_d{} 1 @1", "m_e{} 0 @1", "m_g{} 0 @1"],
  ],
  ['m s="a, b=c \\" d",f=1 1000000', ["m_f{} 1 @1"]],
  ['m s="over\nlines",f=1 1000000', ["m_f{} 1 @1"]],
  ["# a remark\n\n  \nm f=1 1000000\r\n  m f=2 2000000  \r\n", ["m_f{} 1 @1", "m_f{} 2 @2"]],
  ["m,empty= f=1 1000000", ["m_f{} 1 @1"]],
  ["m,b=1,B=2,a=3 f=1 1000000", ['m_f{B="2",a="3",b="1"} 1 @1']],
  [
    "m,A=1,a=1,aa=2,ab=3 f=1,g=2 1000000",
    ['m_f{A="1",a="1",aa="2",ab="3"} 1 @1', 'm_g{A="1",a="1",aa="2",ab="3"} 2 @1'],
  ],
  ["9m,9t=ü f=1 1000000", ['_9m_f{_9t="ü"} 1 @1']],
  ["m f=9223372036854775807i,g=-0 -1500000", ["m_f{} 9223372036854776000 @-1", "m_g{} 0 @-1"]],
])("%s", (text, lines) => expect(batchLines(decode(text).batch)).toEqual(lines));

test.each([
  ["h", "2", 7_200_000],
  ["m", "2", 120_000],
  ["s", "1790000000", 1_790_000_000_000],
  ["ms", "1790000000123", 1_790_000_000_123],
  ["us", "1790000000123999", 1_790_000_000_123],
  ["ns", "1790000000123999999", 1_790_000_000_123],
  ["ns", "999999", 0],
] as const)("a time in %s", (precision, text, timeMs) => {
  const { batch } = decode(`m f=1 ${text}`, { unitMs: precisions[precision] });
  expect(batch.times[0]).toBe(timeMs);
});

test.each([
  ["m", "it has no fields"],
  ["m,a=b", "it has no fields"],
  [",a=b f=1", "it has no measurement"],
  ["m,a f=1", "a tag is not name=value"],
  ["m,=b f=1", "a tag is not name=value"],
  ["m,a=b,a=c f=1", 'tag "a" occurs twice'],
  ["m f", "a field is not name=value"],
  ["m =1", "a field is not name=value"],
  ["m f=", '"" is not a value'],
  ["m f=abc", '"abc" is not a value'],
  ["m f=1x", '"1x" is not a value'],
  ["m f=1.5i", '"1.5i" is not a value'],
  ["m f=NaN", '"NaN" is not a value'],
  ["m f=1e999", '"1e999" is not a value'],
  ["m f=1 soon", '"soon" is not a timestamp'],
  ["m f=1 99999999999999999999999999", '"99999999999999999999999999" is not a timestamp'],
  ['m f="x', "a quoted value has no end"],
  ['m f="x"y', "there is something behind a value"],
  ["m\\", "it has no fields"],
])("%s is reported, and the lines around it are taken", (line, sentence) => {
  const { batch, badLines, firstBad } = decode(
    `a f=1 1000000\n${line}\n${line.includes('"') ? "" : "b f=2 2000000"}`,
  );
  expect([badLines, firstBad]).toEqual([1, { number: 2, sentence }]);
  expect(batchLines(batch)[0]).toBe("a_f{} 1 @1");
  if (!line.includes('"')) expect(batchLines(batch)[1]).toBe("b_f{} 2 @2");
});

test("a bad line is numbered rightly behind texts that go over lines, and nothing of it is taken", () => {
  const { batch, firstBad, texts } = decode('m s="a\nb\n",f=1 1000000\nm f=1,g=x\n');
  expect(firstBad?.number).toBe(4);
  expect([texts, batch.sampleCount]).toEqual([1, 1]);
});

test("a label for all is put where no tag has its name", () => {
  const { batch } = decode(
    "m f=1 0\nm,db=own f=1 0\nm,a=1,z=2 f=1 0\nm,a\\ b=1 f=1 0\nm,db= f=1 0",
    { extra: ["db", "gpus"] },
  );
  expect(batchLines(batch)).toEqual([
    'm_f{db="gpus"} 1 @0',
    'm_f{db="own"} 1 @0',
    'm_f{a="1",db="gpus",z="2"} 1 @0',
    'm_f{a_b="1",db="gpus"} 1 @0',
    "m_f{} 1 @0",
  ]);
});

test("a known line means the same in every request, in whatever order its fields come", () => {
  const own = new LineDecoder();
  const lines = (text: string): string[] =>
    batchLines(own.decode(Buffer.from(text), { unitMs: precisions.ms, nowMs }).batch);
  for (let round = 0; round < 3; round++) {
    expect(lines("m,a=1 f=1,g=2 1\nm,a=2 f=3 1\nm,a=1 f=4 2")).toEqual([
      'm_f{a="1"} 1 @1',
      'm_f{a="1"} 4 @2',
      'm_g{a="1"} 2 @1',
      'm_f{a="2"} 3 @1',
    ]);
    expect(lines(`m,a=2 g=${round} 1\nm,a=1 g=5,new${round}=7,f=6 1`)).toEqual([
      `m_g{a="2"} ${round} @1`,
      'm_g{a="1"} 5 @1',
      `m_new${round}{a="1"} 7 @1`,
      'm_f{a="1"} 6 @1',
    ]);
  }
});

test("more lines than are kept are taken all the same", () => {
  const own = new LineDecoder();
  for (let round = 0; round < 6; round++) {
    const text = Array.from(
      { length: 100_000 },
      (_, i) => `m${round},a=${"x".repeat(50)}${i} f=1 1`,
    ).join("\n");
    const { batch } = own.decode(Buffer.from(text), { unitMs: precisions.ms, nowMs });
    expect([batch.seriesCount, batch.sampleCount]).toEqual([100_000, 100_000]);
    const last = batch.seriesCount - 1;
    expect(
      readLabelBlock(batch.bytes, batch.labelStarts[last] ?? 0, batch.labelEnds[last] ?? 0),
    ).toEqual([
      ["__name__", `m${round}_f`],
      ["a", `${"x".repeat(50)}99999`],
    ]);
  }
}, 60_000);

test("floats are read to the last bit", () => {
  const random = seededRandom(5);
  for (let count = 0; count < 20_000; count++) {
    const value = (random() - 0.5) * 10 ** Math.floor(random() * 40 - 20);
    const text = count % 2 === 0 ? String(value) : value.toFixed(Math.floor(random() * 8));
    const bytes = Buffer.from(text);
    if (!Object.is(readFloat(bytes, 0, bytes.length), Number(text)))
      throw new Error(`${text} is read as ${readFloat(bytes, 0, bytes.length)}`);
  }
  expect(readFloat(Buffer.from("123456789012345.6"), 0, 17)).toBe(123_456_789_012_345.6);
});

test(
  "broken bytes are reported, never a hang",
  async () => {
    const samples = [
      String.raw`m\ 1,ta\,g=a\=b,x=y f=1.5,g=2i,h="te\"xt",i=t 1790000000123456789` + "\ncpu f=1\n",
      "gpu,uuid=GPU-1,host=a watts=93.5,hot=false 1790000000000000000\n".repeat(3),
    ];
    const parse = (bytes: Buffer): void => {
      const { batch } = decoder.decode(bytes, { unitMs: precisions.ns, nowMs, extra: ["db", "x"] });
      try {
        plainBatch(batch);
      } catch (thrown) {
        if (!(thrown instanceof ProtoError)) throw thrown;
      }
    };
    expect(await fuzz({ seed: 21, samples, parse })).toBe(fuzzInputs);
  },
  fuzzTimeoutMs,
);
