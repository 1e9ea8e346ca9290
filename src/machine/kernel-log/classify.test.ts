import { expect, test } from "vitest";
import { classify } from "./classify.ts";

const line = (text: string, level = 3, facility = 0) =>
  classify({ facility, level, sequence: 1, sinceBootUs: 1, isFragment: false, text });

test("an Xid line reports its number and its GPU", () => {
  const text =
    "NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
  expect(line(text)).toEqual({
    vendor: "nvidia",
    driver: "nvidia",
    level: "error",
    pciBusId: "0000:18:00.0",
    xid: 79,
    event: "xid",
    text,
  });
});

const [nvidia, nouveau] = [
  { vendor: "nvidia", driver: "nvidia" },
  { vendor: "nvidia", driver: "nouveau" },
];
const amdgpu = { vendor: "amd", driver: "amdgpu" };
const [i915, xe] = [
  { vendor: "intel", driver: "i915" },
  { vendor: "intel", driver: "xe" },
];

test.each([
  [
    "NVRM: Xid (PCI:0000:C1:00): 31, pid=4242, name=python3, Ch 00000008, intr 10000000. MMU Fault",
    { ...nvidia, xid: 31, pciBusId: "0000:c1:00.0" },
  ],
  [
    "NVRM: Xid (PCI:0000:18:00): 48, An uncorrectable double bit error (DBE) has been detected",
    { ...nvidia, xid: 48 },
  ],
  [
    "NVRM: Xid (0000:03:00): 13, 0001 00000000 000090c0",
    { ...nvidia, xid: 13, pciBusId: "0000:03:00.0" },
  ],
  [
    "NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.",
    { ...nvidia, event: "fell-off-bus", pciBusId: "0000:18:00.0" },
  ],
  [
    "NVRM: GPU at PCI:0000:18:00: GPU-3c2f8a1e-0000-1111-2222-333344445555",
    { ...nvidia, pciBusId: "0000:18:00.0" },
  ],
  ["NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15", nvidia],
  [
    "nvidia 00000000:18:00.0: enabling device (0000 -> 0003)",
    { ...nvidia, pciBusId: "0000:18:00.0" },
  ],
  [
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 46 egress non-posted PRIV error",
    { ...nvidia, sxid: 12028, event: "sxid", pciBusId: "0000:c1:00.0" },
  ],
  ["nvidia-nvlink: Nvlink Core is being initialized, major device number 510", nvidia],
  ["[drm] [nvidia-drm] [GPU ID 0x00001800] Loading driver", nvidia],
  ["nouveau 0000:01:00.0: gr: TRAP ch 5", { ...nouveau, pciBusId: "0000:01:00.0" }],
  [
    "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
    { ...amdgpu, event: "reset", pciBusId: "0000:03:00.0" },
  ],
  [
    "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=11, emitted seq=13",
    { ...amdgpu, event: "timeout" },
  ],
  [
    "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=1",
    { ...amdgpu, event: "timeout" },
  ],
  [
    "amdgpu 0000:83:00.0: amdgpu: 1 correctable hardware errors detected in umc block",
    { ...amdgpu, event: "ras", pciBusId: "0000:83:00.0" },
  ],
  ["amdgpu: RAS event of type ERREVENT_ATHUB_INTERRUPT detected!", { ...amdgpu, event: "ras" }],
  ["[drm] amdgpu kernel modesetting enabled.", amdgpu],
  ["kfd kfd: amdgpu: added device 1002:74a1", amdgpu],
  ["radeon 0000:01:00.0: GPU lockup", { vendor: "amd", driver: "radeon" }],
  [
    "i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dffffb, in chrome [1234]",
    { ...i915, event: "hang", pciBusId: "0000:00:02.0" },
  ],
  [
    "i915 0000:00:02.0: [drm] Resetting chip for stopped heartbeat on rcs0",
    { ...i915, event: "reset" },
  ],
  ["xe 0000:03:00.0: [drm] GT0: Engine reset: engine_class=rcs", { ...xe, event: "reset" }],
  ["[drm:xe_guc_exec_queue_timedout_job [xe]] *ERROR* Timedout job", { ...xe, event: "timeout" }],
])("%s", (text, wanted) => {
  expect(line(text)).toMatchObject({ ...wanted, text });
});

test.each([
  "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
  "snd_hda_intel 0000:03:00.1: bound 0000:03:00.0 (ops amdgpu_dm_audio_component_bind_ops [amdgpu])",
  "audit: type=1400 msg=NVRM: Xid (PCI:0000:18:00): 79",
  "xen: events: Xen HVM callback vector",
  "xe-helper: not the driver",
  "i915_backlight: x",
  "pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0",
  "",
])("%j is of no GPU's driver", (text) => {
  expect(line(text)).toBeUndefined();
});

test("a line that a program wrote into the kernel's log is not the kernel's", () => {
  expect(line("NVRM: Xid (PCI:0000:18:00): 79, pid=1", 3, 1)).toBeUndefined();
});

test("levels are the words that Grafana knows", () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7].map((level) => line("NVRM: x", level)?.level)).toEqual([
    "critical",
    "critical",
    "critical",
    "error",
    "warn",
    "info",
    "info",
    "debug",
  ]);
});

test("a line without an address or a number has none", () => {
  expect(Object.keys(line("NVRM: something") ?? {})).toEqual(["vendor", "driver", "level", "text"]);
});
