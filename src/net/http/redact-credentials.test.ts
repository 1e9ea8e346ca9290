import { expect, test } from "vitest";
import { redactCredentials } from "./secret.ts";

const pair = Buffer.from("me:hunter22").toString("base64");
test.each([
  [{ authorization: "Bearer abcdef" }, "no abcdef here", "no <secret> here"],
  [
    { authorization: `Basic ${pair}` },
    `me:hunter22 ${pair} hunter22`,
    "<secret> <secret> <secret>",
  ],
  [{ "x-key": "one two" }, "heard one two", "heard <secret>"],
  [{ "x-key": "abc" }, "abc is a word", "abc is a word"],
  [{}, "as it is", "as it is"],
])("what was sent as %j is taken out of %j", (headers, text, shown) => {
  expect(redactCredentials(text, headers)).toBe(shown);
});
