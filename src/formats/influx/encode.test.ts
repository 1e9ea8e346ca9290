import { expect, test } from "vitest";
import { fuzzInputs, seededRandom } from "../../../test/fuzz/mutate.ts";
import { labelSet } from "../../model/labels.ts";
import { plainBatch } from "../../../test/fixtures/formats/samples.ts";
import { LineDecoder } from "./decode.ts";
import { fieldHead, floatText, lineHead, plainForLine, quotedText } from "./encode.ts";

test.each([
  ["gpu", "gpu "],
  ["my gpu,x=y", String.raw`my\ gpu\,x=y `],
  ["#remark", "_remark "],
  ["a\nb\r\nc", String.raw`a\ b\ c `],
])("the measurement %j", (name, head) => expect(lineHead(name, [])).toBe(head));

test.each([
  ["a,b=c d", String.raw`a\,b\=c\ d`],
  ["DOMAIN\\host", "DOMAIN\\host"],
  ["ends\\", "ends/"],
  ["a\\,b", String.raw`a/\,b`],
  ["a\\\\b", String.raw`a/\b`],
  ["two\nlines", String.raw`two\ lines`],
  ["°ü🙂", "°ü🙂"],
])("the tag %j", (value, text) => expect(lineHead("m", [["t", value]])).toBe(`m,t=${text} `));

test("a tag without a value is left out, a text is quoted, and what is no number is none", () => {
  expect(lineHead("m", [["t", ""]])).toBe("m ");
  expect(quotedText('say "a\\b"')).toBe(String.raw`"say \"a\\b\""`);
  expect([floatText(Number.NaN), floatText(Infinity), floatText(-0)]).toEqual([
    undefined,
    undefined,
    "0",
  ]);
});

test("whatever the texts, the line is one line and the decoder reads the same tags, number and time", () => {
  const random = seededRandom(8);
  const letters = [
    "a",
    "B",
    "9",
    " ",
    ",",
    "=",
    "\\",
    '"',
    "#",
    "\n",
    "\r",
    "\t",
    "°",
    "🙂",
    "\u0000",
  ];
  const word = (most: number): string =>
    Array.from(
      { length: 1 + Math.floor(random() * most) },
      () => letters[Math.floor(random() * letters.length)],
    ).join("");
  const decoder = new LineDecoder();
  for (let count = 0; count < fuzzInputs; count++) {
    const tags = labelSet({ host: word(6), uuid: word(8), model: word(4) });
    const value = (random() - 0.5) * 10 ** Math.floor(random() * 30 - 15);
    const fields = `watts=${floatText(value) ?? ""},tags=${quotedText(word(8))}`;
    const line = `${lineHead("m", tags)}${fields} 1790000000123`;
    const { batch, badLines } = decoder.decode(Buffer.from(line), { unitMs: 1, nowMs: 0 });
    const plain = tags.map(([name, text]) => [name, plainForLine(text)]);
    expect([line, badLines]).toEqual([line, 0]);
    expect(plainBatch(batch)).toMatchObject([
      { labels: [["__name__", "m_watts"], ...plain], samples: [[1_790_000_000_123, value]] },
    ]);
  }
  expect(fieldHead("a b")).toBe("a\\ b=");
});
