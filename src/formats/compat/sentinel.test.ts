import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { presence } from "../../model/presence.ts";
import { PageWriter } from "../prometheus/page.ts";
import { CompatFrames } from "./compat.ts";
import { dcgm } from "./dcgm.ts";
import { h200, inputOf } from "../../../test/fixtures/formats/compat.ts";
import type { CompatRow } from "./row.ts";

const folder = fileURLToPath(
  new URL("../../../../shared/captures/public/dcgm-exporter", import.meta.url),
);

/** The same shape as on the pages of dcgm-exporter for cards without the sensor. */
const own = `# HELP DCGM_FI_DEV_MEMORY_TEMP Memory temperature (in C).
# TYPE DCGM_FI_DEV_MEMORY_TEMP gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0", UUID="GPU-a"} 139
DCGM_FI_DEV_MEM_CLOCK{gpu="0", UUID="GPU-a"} 405
DCGM_FI_DEV_MEMORY_TEMP{gpu="0", UUID="GPU-a"} 9223372036854775794
`;

interface Sample {
  readonly row: CompatRow;
  readonly labels: Readonly<Record<string, string>>;
  /** Their value in our unit, as a driver would deliver it. */
  readonly value: number;
}

function samplesOf(page: string): Sample[] {
  return page.split("\n").flatMap((line) => {
    const [, name, number] = /^(\w+)\{[^}]*\} (\d+)$/.exec(line) ?? [];
    return name === undefined ? [] : [sampleOf(name, Number(number))];
  });
}

function sampleOf(name: string, theirs: number): Sample {
  const row = dcgm.rows.find((one) => one.name === name);
  if (row === undefined) throw new Error(`${name} is not in the table`);
  const about = { device: h200, host: "h", owner: {}, gpus: 1, labelOf: () => undefined };
  const scale = 1e9 / (row.convert?.write(1e9, { ...about, timeMs: 0 }) ?? 1e9);
  const labels = Object.fromEntries(
    Object.entries(row.match ?? {}).map(([label, value]) => [label, [value].flat()[0] ?? ""]),
  );
  return { row, labels, value: theirs * scale };
}

/** Checks the presence of each sample in a frame: both clocks are present, the memory temperature is not. */
function check(page: string): void {
  const samples = samplesOf(page);
  const input = inputOf(
    h200,
    samples.map(({ row, labels, value }) => [row.from, labels, value] as const),
  );
  expect(samples.map(({ row, labels }) => [row.from.name, labels])).toEqual([
    ["gpu_clock_hertz", { domain: "sm" }],
    ["gpu_clock_hertz", { domain: "memory" }],
    ["gpu_temperature_celsius", { sensor: "memory" }],
  ]);
  expect([...input.frame.presence]).toEqual([presence.present, presence.present, presence.failed]);
  expect([...input.frame.values].slice(0, 2)).toEqual([139e6, 405e6]);
  const written = new PageWriter("text").write(new CompatFrames([dcgm]).of([input]));
  expect(written).toMatch(/^DCGM_FI_DEV_SM_CLOCK\{[^}]*\} 139/m);
  expect(written).not.toMatch(/^DCGM_FI_DEV_MEMORY_TEMP\{/m);
  expect(written).not.toContain("922337203685477");
}

test("a page with DCGM's sentinel for nothing there comes back without it", () => check(own));

test("readme_sentinel.prom from ../shared/captures/public comes back without its sentinel", (context) => {
  const file = `${folder}/readme_sentinel.prom`;
  if (!existsSync(file)) return context.skip(`${folder} is not here`);
  check(readFileSync(file, "utf8"));
});

/** Blank, not found, not supported, not permitted: as 64 bits, 32 bits and floating point. */
const sentinels = [0, 1, 2, 3].flatMap((kind) => [
  Number(0x7ffffffffffffff0n) + kind,
  0x7ffffff0 + kind,
  140_737_488_355_328 + kind,
]);

test.for([
  "DCGM_FI_DEV_MEMORY_TEMP",
  "DCGM_FI_DEV_GPU_TEMP",
  "DCGM_FI_DEV_POWER_USAGE",
  "DCGM_FI_DEV_GPU_UTIL",
  "DCGM_FI_DEV_SM_CLOCK",
])("no sentinel is a value of %s", (name) => {
  for (const sentinel of sentinels) {
    const { row, labels, value } = sampleOf(name, sentinel);
    const { frame } = inputOf(h200, [[row.from, labels, value]]);
    expect([sentinel, frame.presence[0]]).toEqual([sentinel, presence.failed]);
  }
});
