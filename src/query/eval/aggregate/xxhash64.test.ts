import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { xxhash64 } from "./xxhash64.ts";

test.each([
  ["", "ef46db3751d8e999"],
  ["a", "d24ec4f1a98c6e5b"],
  ["abc", "44bc2cf5ad770999"],
  ["Call me Ishmael. Some years ago--never mind how long precisely-", "02a2e85470d6fd96"],
])("the hash of %j is the published one", (text, hash) => {
  expect(xxhash64(Buffer.from(text)).toString(16).padStart(16, "0")).toBe(hash);
});
