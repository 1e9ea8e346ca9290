/** The flags and keys of the hub's pod info: labels and controllers of pods that hold GPUs. */
import type { Command } from "commander";
import * as v from "valibot";
import type { ConfigFile } from "./schema.ts";
import { addSettingFlags, type FlagsOf, keysOf, readSetting } from "./setting.ts";

export type PodInfoFlags = FlagsOf<typeof podInfoTable>;

export interface PodInfoSettings {
  readonly isOn: boolean;
  readonly labels: readonly string[];
}

/** An optional DNS name as prefix, and a name: the label keys that Kubernetes allows. */
const labelKeyForm =
  /^(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const labelsText = "at most 20 label keys, separated by commas";

const podInfoTable = {
  pod_info: {
    schema: v.picklist(["off", "on"], "off or on"),
    flag: ["--pod-info <mode>", "read the pods that hold GPUs from Kubernetes: off or on"],
    fallback: "off",
    description:
      "Read the pods that hold GPUs from the Kubernetes API server and store their controller as `gpu_owner_pod_info`. The hub's account needs the right to get pods. See [Kubernetes](../guides/kubernetes.md#know-which-pod-holds-a-gpu).",
  },
  pod_labels: {
    schema: v.pipe(
      v.string(labelsText),
      v.transform((text) =>
        text
          .split(",")
          .map((key) => key.trim())
          .filter((key) => key !== ""),
      ),
      v.check(
        (keys) => keys.length <= 20 && keys.every((key) => labelKeyForm.test(key)),
        labelsText,
      ),
    ),
    flag: [
      "--pod-labels <keys>",
      "labels of these pods to store, separated by commas (default: none)",
    ],
    fallback: "",
    description:
      "With `pod_info`: keys of pod labels to store with the controller, separated by commas. `team` becomes the label `label_team`.",
  },
} as const;

export const podInfoKeys = keysOf(podInfoTable);

export function addPodInfoFlags(command: Command): void {
  addSettingFlags(command, podInfoTable);
}

export function podInfoSettings(flags: PodInfoFlags, file: ConfigFile["hub"]): PodInfoSettings {
  return {
    isOn: readSetting(podInfoTable, "pod_info", flags, {}, file) === "on",
    labels: readSetting(podInfoTable, "pod_labels", flags, {}, file),
  };
}
