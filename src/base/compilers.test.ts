import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

test("this Node knows every flag that is set", () => {
  const flags = ["bin/gpulse", "src/base/compilers.ts", "src/base/heap.ts"].flatMap((file) =>
    [...readFileSync(path.join(root, file), "utf8").matchAll(/"(--[a-z][^"]*)"/g)].map(
      ([, flag]) => flag ?? "",
    ),
  );
  expect(flags).toContain("--no-opt");
  const { status, stderr } = spawnSync(process.execPath, [...flags, "-e", "0"], {
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
