import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { resolveSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "gpulse-compat-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(yaml: string): string {
  const path = join(folder, "gpulse.yaml");
  writeFileSync(path, yaml);
  return path;
}

const asked = async (compat: readonly string[] | undefined, yaml = "") =>
  (
    await resolveSettings(
      "agent",
      { config: file(yaml), ...(compat === undefined ? {} : { compat }) },
      {},
    )
  ).compat;

test("no other names unless asked for", async () => {
  expect(await asked(undefined)).toEqual([]);
});

test("--compat takes a list, again and again, each name once", async () => {
  expect(await asked(["dcgm, amd", "nvidia-smi", "dcgm"])).toEqual(["dcgm", "amd", "nvidia-smi"]);
});

test("gpulse.yaml asks too, and the flag wins", async () => {
  expect(await asked(undefined, "compat: [dcgm-old, amd]")).toEqual(["dcgm-old", "amd"]);
  expect(await asked(["nvidia-smi"], "compat: [amd]")).toEqual(["nvidia-smi"]);
});

test("an unknown name is an error that says what was likely meant", async () => {
  await expect(asked(["dcgm,amdd"])).rejects.toThrow(
    '--compat must be one of dcgm, dcgm-old, amd, nvidia-smi (did you mean amd?), not "amdd".',
  );
  await expect(asked(["prometheus"])).rejects.toThrow(
    '--compat must be one of dcgm, dcgm-old, amd, nvidia-smi, not "prometheus".',
  );
  await expect(asked(undefined, "compat: [nvidia_smi]")).rejects.toThrow(
    'gpulse.yaml:1:10: "compat.0" must be one of dcgm, dcgm-old, amd, nvidia-smi (did you mean nvidia-smi?), not "nvidia_smi".',
  );
});
