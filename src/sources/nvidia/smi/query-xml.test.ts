import { expect, test } from "vitest";
import { processesOf, readingsOf } from "../../../../test/fixtures/sources/nvidia-smi.ts";
import { parseSmiXml } from "./query-xml.ts";

/** A GPU with only these elements. */
const gpuOf = (elements: string, log = ""): string =>
  `<nvidia_smi_log>${log}<gpu id="00000000:01:00.0"><uuid>GPU-a</uuid>${elements}</gpu></nvidia_smi_log>`;

test.for<[string, Record<string, number | string>]>([
  ["<compute_mode>Exclusive_Process</compute_mode>", { gpu_compute_mode: 3 }],
  ["<compute_mode>Prohibited</compute_mode>", { gpu_compute_mode: 2 }],
  ["<compute_mode>Sideways</compute_mode>", { gpu_compute_mode: "failed" }],
  ["<gpu_recovery_action>None</gpu_recovery_action>", { gpu_recovery_action: 0 }],
  ["<gpu_recovery_action>Drain and Reset</gpu_recovery_action>", { gpu_recovery_action: 4 }],
  ["<gpu_recovery_action>Reboot</gpu_recovery_action>", { gpu_recovery_action: 2 }],
  ["<gpu_recovery_action>N/A</gpu_recovery_action>", { gpu_recovery_action: "unsupported" }],
  ["<fabric><state>In Progress</state></fabric>", { gpu_fabric_state: 2 }],
  ["<fabric><state>Completed</state></fabric>", { gpu_fabric_state: 3 }],
  ["<fabric><state>N/A</state></fabric>", { gpu_fabric_state: "unsupported" }],
  [
    "<voltage><graphics_volt>743.750 mV</graphics_volt></voltage>",
    { "gpu_voltage_volts{rail=gfx}": 0.74375 },
  ],
  [
    "<mig_mode><current_mig>Disabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>",
    { gpu_mig_enabled: 0, gpu_mig_pending: 1 },
  ],
])("%s is %j", ([elements, wanted]) => {
  expect(readingsOf(parseSmiXml(gpuOf(elements))[0])).toEqual(wanted);
});

test.for([
  ["<driver_version>580.159.04</driver_version>", "580.159.04"],
  ["<driver_version>612.10 [Deprecated; use KMD Version instead]</driver_version>", "612.10"],
  [
    "<driver_version>Deprecated, see KMD version</driver_version><kmd_version>612.10</kmd_version>",
    "612.10",
  ],
  ["<driver_version>N/A</driver_version>", undefined],
] as const)("the driver of %s is %s", ([log, driver]) => {
  expect(parseSmiXml(gpuOf("", log))[0]?.device.driver).toBe(driver);
});

test("the mask is absent where idling is not reported", () => {
  const [old] = parseSmiXml(
    gpuOf(
      "<clocks_throttle_reasons><clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap></clocks_throttle_reasons>",
    ),
  );
  expect(readingsOf(old)["gpu_clock_event_reasons_mask"]).toBe("unsupported");
});

/** A MIG device and a process inside one, in the format of the XML. */
const migDevice = (gi: number, ci: number): string =>
  `<mig_device><gpu_instance_id>${gi}</gpu_instance_id><compute_instance_id>${ci}</compute_instance_id></mig_device>`;
const inInstance = (pid: number, gi: string, ci: string): string =>
  `<process_info><gpu_instance_id>${gi}</gpu_instance_id><compute_instance_id>${ci}</compute_instance_id><pid>${pid}</pid><type>C</type></process_info>`;

test("a process counts for its own compute instance, not for others of the same GPU instance", () => {
  const [card, ...instances] = parseSmiXml(
    gpuOf(
      `<mig_devices>${migDevice(2, 0)}${migDevice(2, 1)}${migDevice(9, 0)}</mig_devices>` +
        `<processes>${inInstance(11, "2", "1")}${inInstance(12, "2", "1")}${inInstance(13, "2", "0")}${inInstance(14, "9", "N/A")}</processes>`,
    ),
  );
  expect(processesOf(card)).toHaveLength(4);
  expect(instances.map((one) => processesOf(one).map(({ pid }) => pid))).toEqual([
    [13],
    [11, 12],
    [14],
  ]);
});

test.for([
  ["C:\\Windows\\System32\\dwm.exe", "dwm.exe"],
  ["C:\\Program Files\\Example App\\Example Overlay.exe --token=x", "Example Overlay.exe"],
  ["/usr/bin/python3 train.py --key secret", "python3"],
  ["./gpu_burn", "gpu_burn"],
  ["[Insufficient Permissions]", undefined],
  ["N/A", undefined],
] as const)("a process named %s is %s", ([given, name]) => {
  const [one] = parseSmiXml(
    gpuOf(
      `<processes><process_info><pid>7</pid><type>C+G</type><process_name>${given}</process_name><used_memory>Not available in WDDM driver model</used_memory></process_info></processes>`,
    ),
  );
  expect(processesOf(one)).toEqual([
    { pid: 7, kind: "both", memoryBytes: Number.NaN, ...(name === undefined ? {} : { name }) },
  ]);
});
