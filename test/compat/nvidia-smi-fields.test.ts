// Every field a real nvidia-smi can be asked for is either given under nvidia_gpu_exporter's name or listed as left out.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { nvidiaSmi } from "../../src/formats/compat/nvidia-smi.ts";

const help = readFileSync(
  new URL("../../src/sources/nvidia/smi/captures/help-query-gpu.txt", import.meta.url),
  "utf8",
);

/** One name per column: a paragraph begins with `"power.limit" or "gpu.power.requested_limit"`. */
const columnsOf = (text: string): string[] =>
  text.split("\n").flatMap((line) => /^"([\w.]+)"(?: or "[\w.]+")*\s*$/.exec(line)?.[1] ?? []);

/** `encoder.stats.sessionCount` is encoder_stats_session_count there, with the unit behind it. */
const nameOf = (field: string): string =>
  `nvidia_smi_${field
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(".", "_")
    .toLowerCase()}`;

test("no field of --help-query-gpu is missing without a word", () => {
  const given = nvidiaSmi.rows.map(({ name }) => name);
  const leftOut = nvidiaSmi.leftOut
    .flatMap(([names]) => names.split(", "))
    .map((pattern) => new RegExp(`^${pattern.replaceAll("*", ".*")}$`));
  const fields = columnsOf(help);
  expect(fields.length).toBeGreaterThan(150);
  const missing = fields
    .map(nameOf)
    .filter(
      (name) =>
        !given.some((one) => one === name || one.startsWith(`${name}_`)) &&
        !leftOut.some((pattern) => pattern.test(name)),
    );
  expect(missing).toEqual([]);
});
