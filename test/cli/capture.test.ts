import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { radeonTree } from "../captures/amd-card.ts";
import { temporaryFolder, writeTree } from "../captures/tree.ts";
import { unpackCapture } from "../captures/unpack.ts";

beforeAll(ensureBuild, 300_000);

interface Frame {
  readonly tier: string;
  readonly readings: readonly {
    name: string;
    labels: Record<string, string>;
    value?: number;
    absent?: string;
  }[];
}

/** Reads a tree with `amd:`, leaving out identity, which a capture masks. */
async function readings(sysfs: string): Promise<Record<string, number | string>> {
  const { stdout, stderr } = await runGpulse([
    "pipe",
    "--from",
    "amd:",
    "--sysfs",
    sysfs,
    "--procfs",
    temporaryFolder(),
    "--for",
    "1500ms",
  ]);
  const found: Record<string, number | string> = {};
  for (const line of stdout.trim().split("\n")) {
    const frame = JSON.parse(line) as Frame;
    for (const { name, labels, value, absent } of frame.readings) {
      // Integrated over time, identity, or derived from a period.
      if (/energy|_info$|^gpu_bound$/.test(name)) continue;
      const { uuid: _uuid, host: _host, ...own } = labels;
      found[`${name}${JSON.stringify(own)}`] = value ?? absent ?? "nothing";
    }
  }
  expect(Object.keys(found).length, stderr).toBeGreaterThan(20);
  return found;
}

test("a capture laid out again gives the same readings, without the identity of the machine", async () => {
  const tree = writeTree(radeonTree);
  const file = path.join(temporaryFolder(), "capture.json");
  const { code, stdout } = await runGpulse([
    "doctor",
    "--source",
    "amd:",
    "--sysfs",
    tree,
    "--procfs",
    temporaryFolder(),
    "--capture",
    file,
    "--host-name",
    "secret-host",
  ]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("look it over")]);
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain("5e3d11c0ffee0042");
  expect(text).not.toContain("secret-host");
  expect(await readings(unpackCapture(file))).toEqual(await readings(tree));
}, 60_000);
