/** The flags and keys of the hub's node taints. */
import type { Command } from "commander";
import * as v from "valibot";
import { type ActionBudget, budgetText, parseBudget } from "../../config/budget.ts";
import { durationMs } from "../../config/fields.ts";
import type { ConfigFile } from "./schema.ts";
import { addSettingFlags, type FlagsOf, keysOf, readSetting } from "./setting.ts";

export type NodeTaintFlags = FlagsOf<typeof nodeTaintTable>;

export interface NodeTaintSettings {
  readonly mode: "off" | "dry-run" | "on";
  readonly budget: ActionBudget;
  readonly returnAfterMs: number;
  /** The cluster that the hub runs in, if absent. */
  readonly kubeconfig: string | undefined;
}

const nodeTaintTable = {
  node_taints: {
    schema: v.picklist(["off", "dry-run", "on"], "off, dry-run or on"),
    flag: ["--node-taints <mode>", "taint Kubernetes nodes with failing GPUs: off, dry-run or on"],
    fallback: "off",
    description:
      "Set a condition and a taint on Kubernetes nodes whose GPUs are failing or lost, and remove them when they are healthy: `dry-run` only writes to the audit log what it would do. See [Kubernetes](../guides/kubernetes.md#take-nodes-with-failing-gpus-out-of-service).",
  },
  node_taint_budget: {
    schema: budgetText("nodes"),
    flag: [
      "--node-taint-budget <n,p%>",
      "never taint more than n nodes, nor more than p % of them",
    ],
    fallback: "1,25%",
    description:
      "The most nodes that may be tainted at once: a number, and a percentage of the GPU nodes that the hub sees, rounded down. Both hold.",
  },
  node_taint_return: {
    schema: durationMs(0, 7 * 86_400_000),
    flag: ["--node-taint-return <duration>", "return a node that has been healthy this long"],
    fallback: "10m",
    description: "How long a tainted node has to be healthy before its taint is removed.",
  },
  kubeconfig: {
    schema: v.pipe(v.string("a file"), v.minLength(1, "a file")),
    flag: ["--kubeconfig <file>", "kubeconfig for the Kubernetes API server"],
    fallbackText: "the cluster the hub runs in",
    description:
      "The kubeconfig for node taints and pod info; without it the service account of the hub's own pod is used.",
  },
} as const;

export const nodeTaintKeys = keysOf(nodeTaintTable);

export function addNodeTaintFlags(command: Command): void {
  addSettingFlags(command, nodeTaintTable);
}

export function nodeTaintSettings(
  flags: NodeTaintFlags,
  file: ConfigFile["hub"],
): NodeTaintSettings {
  return {
    mode: readSetting(nodeTaintTable, "node_taints", flags, {}, file),
    budget: parseBudget(readSetting(nodeTaintTable, "node_taint_budget", flags, {}, file)),
    returnAfterMs: readSetting(nodeTaintTable, "node_taint_return", flags, {}, file),
    kubeconfig: readSetting(nodeTaintTable, "kubeconfig", flags, {}, file),
  };
}
