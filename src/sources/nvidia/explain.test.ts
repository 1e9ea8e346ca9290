import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Device } from "../../model/device.ts";
import { explain, withSmi } from "./explain.ts";
import { SmiError } from "./smi/run.ts";
import { probeDriverEnvironment } from "./doctor.ts";
import { decodeThrottleBits } from "../../model/nvidia-throttle.ts";

const here = { module: true, control: "open", container: false } as const;
const init = (code: number) => ({ stage: "init", code, detail: "X" }) as const;
const refused = { stage: "refused", detail: "/x.so: invalid ELF header" } as const;
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
  [refused, { module: false, control: "missing", container: false }, "failed", /architecture/],
  [refused, { ...here, container: true }, "failed", /architecture/],
] as const)("%j where %j is %s", ([problem, around, state, fix]) => {
  const finding = explain(problem, around);
  expect(finding.state).toBe(state);
  if (fix === undefined) expect(finding.fix).toBeUndefined();
  else expect(finding.fix).toMatch(fix);
});

const none = { state: "not-found", says: "No NVIDIA driver here." } as const;
const broken = { state: "failed", says: "The library does not load.", fix: "Do this." } as const;
const missing = new SmiError("nvidia-smi cannot be started: ENOENT", true);
const fails = new SmiError("nvidia-smi exited with 9: NVIDIA-SMI has failed.");
const gpus = ["GPU-a", "MIG-b"].map((uuid, at): Device => ({
  uuid,
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H100",
  simulated: false,
  ...(at === 0 ? {} : { parent: "GPU-a" }),
}));

test.for([
  [none, [], missing, "not-found", "No NVIDIA driver here."],
  [
    none,
    [],
    fails,
    "failed",
    "The NVIDIA library is not here. nvidia-smi exited with 9: NVIDIA-SMI has failed.",
  ],
  [none, gpus, undefined, "found", "1 through nvidia-smi. The NVIDIA library is not here."],
  [broken, [], missing, "failed", "The library does not load."],
  [
    broken,
    [],
    fails,
    "failed",
    "The library does not load. nvidia-smi exited with 9: NVIDIA-SMI has failed.",
  ],
  [broken, gpus, undefined, "found", "1 through nvidia-smi. The library does not load."],
] as const)(
  "%j with %j of nvidia-smi and %s is %s: %s",
  ([finding, devices, error, state, says]) => {
    expect(withSmi(finding, devices, error)).toMatchObject({ state, says });
  },
);

test("what is around is seen by files alone", async () => {
  const root = mkdtempSync(join(tmpdir(), "gpulse-around-"));
  try {
    expect(await probeDriverEnvironment(join(root, "proc"), join(root, "dev"), root)).toEqual({
      module: false,
      control: "missing",
      container: false,
    });
    mkdirSync(join(root, "proc/driver/nvidia"), { recursive: true });
    mkdirSync(join(root, "dev"));
    for (const file of ["proc/driver/nvidia/version", "dev/nvidiactl", ".dockerenv"])
      writeFileSync(join(root, file), "");
    expect(await probeDriverEnvironment(join(root, "proc"), join(root, "dev"), root)).toEqual({
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
  const active = Object.entries(decodeThrottleBits(bits)).flatMap(([reason, is]) =>
    is ? [reason] : [],
  );
  expect(active.sort()).toEqual([...reasons].sort());
});

test("a library that does not load is reported with the loader's reason, also without a driver", () => {
  const detail =
    "/opt/libnvidia-ml.so.1: cannot open shared object file: No such file or directory";
  const nothing = { module: false, control: "missing", container: false } as const;
  expect(explain({ stage: "library", detail }, nothing).says).toContain(`(${detail})`);
  expect(explain({ stage: "library", detail: "" }, nothing).says).toBe(
    "No NVIDIA driver here: no library, no device, no kernel module.",
  );
});
