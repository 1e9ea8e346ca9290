// A GPU that is lost, a hub that detects it, and a node of a real API server that is tainted because of it.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { stringify } from "yaml";

import { startHub } from "../../engines/hub.ts";
import { type RunningKubernetes, startKubernetes } from "../../engines/kubernetes.ts";
import { freePort } from "../../engines/ports.ts";
import { startAgent } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { conditionType, taintKey } from "../../src/hub/node-taints/node-api.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import { addNode } from "./kubernetes-lab.ts";

const LOST = ["utilization", "power", "memory", "memory_v1", "temperature", "fields"].map(
  (call) => `1.${call}.rc 15`,
);

export interface TaintLab {
  readonly kubernetes: RunningKubernetes;
  readonly dataDir: string;
  /** Makes a GPU fail and returns the time until the node was tainted, in milliseconds. */
  fault(): Promise<number>;
  /** Restores the GPU; resolves when the taint is removed. */
  recover(): Promise<void>;
  condition(): Promise<string | undefined>;
  taints(): Promise<readonly string[]>;
  close(): Promise<void>;
}

const NODE = "taint-1";

interface NodeObject {
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: { readonly conditions: readonly { type: string; status: string }[] };
}

/** Agents push to the hub, or the hub scrapes them at the interval in examples/node-taints.yaml. */
export type Delivery = "push" | "scrape";
const SCRAPE_INTERVAL = "2s";

/** Four nodes, one of them with a real agent and the NVML stub; the hub taints at most one node. */
export async function openTaintLab(
  mode: "dry-run" | "on",
  delivery: Delivery = "push",
): Promise<TaintLab> {
  const closing: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closing.toReversed()) await one();
  };
  try {
    const kubernetes = await startKubernetes();
    closing.push(() => kubernetes.stop());
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-taints-"));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const others = ["taint-2", "taint-3", "taint-4"];
    for (const name of [NODE, ...others]) await addNode(kubernetes, { name });
    const stub = await buildStub();
    closing.push(() => stub.remove());
    stub.script("gpus 2");
    const dataDir = path.join(folder, "hub");
    const url = `http://127.0.0.1:${await freePort()}`;
    const nvidia = ["--source", `nvidia:?library=${stub.library}`];
    const targets: string[] = [];
    const sources = [NODE, ...others].map((name) => ({
      name,
      source: name === NODE ? nvidia : ["--source", "sim:1"],
    }));
    for (const { name, source } of sources) {
      const push = ["--push", url, "--spool", path.join(folder, name)];
      const args = [...source, "--host-name", name, ...(delivery === "push" ? push : [])];
      const agent = await startAgent(args);
      targets.push(new URL(agent.url).host);
      closing.push(() => agent.stop());
    }
    const scrapes = path.join(folder, "prometheus.yml");
    const job = { job_name: "gpulse", static_configs: [{ targets }] };
    const config = { global: { scrape_interval: SCRAPE_INTERVAL }, scrape_configs: [job] };
    writeFileSync(scrapes, stringify(config));
    const hub = await startHub({
      dataDir,
      port: Number(new URL(url).port),
      args: [
        ...(delivery === "scrape" ? [`--prometheus-config=${scrapes}`] : []),
        `--kubeconfig=${kubernetes.kubeconfig}`,
        `--node-taints=${mode}`,
        "--node-taint-budget=1,25%",
        "--node-taint-return=0s",
      ],
    });
    closing.push(() => hub.stop());
    await waitUntil({ what: "every node to be judged", timeoutMs: 60_000 }, async () => {
      const report = (await (await fetch(`${hub.url}/api/health`)).json()) as {
        hosts: { host: string; worst: string }[];
      };
      const judged = report.hosts.filter(({ worst }) => worst !== "unknown");
      return judged.length === sources.length ? true : undefined;
    });
    const node = async (): Promise<NodeObject> =>
      (await kubernetes.api<NodeObject>("GET", `/api/v1/nodes/${NODE}`)).body;
    const taints = async (): Promise<readonly string[]> =>
      ((await node()).spec.taints ?? []).map(({ key }) => key);
    const isTainted = async (): Promise<boolean> => (await taints()).includes(taintKey);
    return {
      kubernetes,
      dataDir,
      taints,
      condition: async () =>
        (await node()).status.conditions.find(({ type }) => type === conditionType)?.status,
      fault: async () => {
        const beganMs = performance.now();
        stub.script("gpus 2", ...LOST);
        await waitUntil({ what: "the node to be tainted", timeoutMs: 60_000 }, async () =>
          (await isTainted()) ? true : undefined,
        );
        return performance.now() - beganMs;
      },
      recover: async () => {
        stub.script("gpus 2");
        await waitUntil({ what: "the node to return", timeoutMs: 60_000 }, async () =>
          (await isTainted()) ? undefined : true,
        );
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
