import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { explain } from "./explain.ts";
import { lookAround } from "./surroundings.ts";
import { throttledBy } from "./throttle.ts";

const here = { module: true, control: "open", container: false } as const;
const init = (code: number) => ({ stage: "init", code, detail: "X" }) as const;
const library = { stage: "library", detail: "no such file" } as const;

test.for([
  [library, { module: false, control: "missing", container: false }, "not-found", undefined],
  [library, { ...here, container: true }, "failed", /--gpus all.*utility/],
  [library, here, "failed", /nvidia-utils/],
  [init(9), here, "failed", /modprobe nvidia/],
  [init(9), { module: false, control: "missing", container: true }, "failed", /--gpus all/],
  [init(18), here, "failed", /Reboot/],
  [init(4), here, "denied", /usermod -aG/],
  [init(999), { ...here, control: "denied" }, "denied", /--group-add/],
  [init(999), here, "failed", /nvidia-smi/],
  [{ stage: "koffi", detail: "gone" }, here, "failed", /npm install koffi/],
] as const)("%j where %j is %s", ([trouble, around, state, fix]) => {
  const finding = explain(trouble, around);
  expect(finding.state).toBe(state);
  if (fix === undefined) expect(finding.fix).toBeUndefined();
  else expect(finding.fix).toMatch(fix);
});

test("what is around is seen by files alone", async () => {
  const root = mkdtempSync(join(tmpdir(), "gpulse-around-"));
  try {
    expect(await lookAround(join(root, "proc"), join(root, "dev"), root)).toEqual({
      module: false,
      control: "missing",
      container: false,
    });
    mkdirSync(join(root, "proc/driver/nvidia"), { recursive: true });
    mkdirSync(join(root, "dev"));
    for (const file of ["proc/driver/nvidia/version", "dev/nvidiactl", ".dockerenv"])
      writeFileSync(join(root, file), "");
    expect(await lookAround(join(root, "proc"), join(root, "dev"), root)).toEqual({
      module: true,
      control: "open",
      container: true,
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test.for([
  [0x1, []],
  [0x2, ["clock_setting"]],
  [0x4, ["power_cap"]],
  [0x8, ["thermal_hardware"]],
  [0x8 | 0x40, ["thermal_hardware"]],
  [0x8 | 0x80, ["power_brake"]],
  [0x10, ["sync_boost"]],
  [0x20, ["thermal"]],
  [0x100, ["clock_setting"]],
  [0x4 | 0x20, ["power_cap", "thermal"]],
] as const)("clocks event reasons %i are %j", ([bits, reasons]) => {
  const active = Object.entries(throttledBy(bits)).flatMap(([reason, is]) => (is ? [reason] : []));
  expect(active.sort()).toEqual([...reasons].sort());
});
