import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import type { GpuView } from "../../machine/snapshot-gpu.ts";
import { parseSmiFacts } from "./nvidia-smi.ts";
import { createSnapshotTaker } from "./take.ts";

const capture = (name: string): string =>
  readFileSync(new URL(`../../sources/nvidia/smi/captures/${name}`, import.meta.url), "utf8");

test("reads versions, firmware, clocks asked for and processes of a real H200 under load", () => {
  const reported = parseSmiFacts(capture("load.q.xml"));
  const [[uuid, extra] = ["", {}]] = reported.gpus;
  expect(reported.versions).toEqual({ cuda_driver: "13.0" });
  expect(extra).toEqual({
    firmware: { gsp: "580.159.04", inforom: "G520.0282.02.02" },
    applicationHertz: { graphics: 1.98e9, memory: 3.201e9 },
  });
  expect(reported.processes).toEqual([
    { uuid, pid: 507, name: "python3", kind: "compute", memoryBytes: 1_130 * 2 ** 20 },
  ]);
});

test("of a command line only the program's name is kept", () => {
  const xml =
    "<nvidia_smi_log><gpu><uuid>G</uuid><processes><process_info><pid>1</pid><process_name>/opt/x/serve --key=hush</process_name><used_memory>N/A</used_memory></process_info></processes></gpu></nvidia_smi_log>";
  expect(parseSmiFacts(xml).processes).toEqual([{ uuid: "G", pid: 1, name: "serve" }]);
});

test("no tool, no answer and half an answer leave a snapshot without what it would have reported", async () => {
  expect(parseSmiFacts("").gpus.size).toBe(0);
  expect(parseSmiFacts(capture("load.q.xml").slice(0, 900)).versions).toEqual({
    cuda_driver: "13.0",
  });
  const view: GpuView = {
    device: { uuid: "G", index: 0, vendor: "nvidia", model: "H200", simulated: false },
    readings: [],
  };
  const take = createSnapshotTaker(() => [view], {
    hostName: "h",
    procfs: "/proc",
    sysfs: "/sys",
    env: {},
    version: "1",
    log: silentLog,
    nowMs: () => 1_000,
    smi: "/no/such/tool",
  });
  const [one, other] = await Promise.all([take(), take()]);
  expect(one.missing).toContainEqual({
    fact: "software.versions.cuda_driver",
    reason: "not-read",
  });
  expect(other).toBe(one);
});
