import { expect, test } from "vitest";
import { pictureOf } from "../../test/fixtures/top/top.ts";
import { onceCsv } from "./once.ts";

test("a name that a spreadsheet would run is a text, and numbers stay numbers", () => {
  const [head = "", line = ""] = onceCsv(pictureOf({ gpus: 1, model: "=cmd()" })).split("\n");
  const cells = line.split(",");
  const cell = (name: string): string | undefined => cells[head.split(",").indexOf(name)];
  expect([cell("model"), cell("gpu"), cell("host")]).toEqual(["'=cmd()", "0", "node1"]);
});
