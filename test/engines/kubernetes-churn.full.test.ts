// 5,000 allocations with churn: pods come and go on four nodes with 64 GPUs each, and every owner on an agent's page is
// compared with the kubelet's lists: it must have been listed, and must not have ended more than ten seconds ago.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { startKubernetes } from "../../engines/kubernetes.ts";
import { ensureBuild, type RunningAgent, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import {
  addNode,
  gpuPod,
  NAMESPACE,
  type NodeKubelet,
  PODS,
  startNodeKubelet,
} from "./kubernetes-lab.ts";

const ALLOCATIONS = 5_000;
const NODES = ["churn-1", "churn-2", "churn-3", "churn-4"];
const GPUS = 64;
const SHORTEST_MS = 14_000;
const LONGEST_MS = 28_000;
const TOLERATED_MS = 10_000;
const MISSING_RATIO = 0.001;
const RESOURCE = "nvidia.com/gpu";

const uuidOf = (index: number): string =>
  `GPU-${index.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;

interface ChurnNode {
  readonly kubelet: NodeKubelet;
  readonly agent: RunningAgent;
  /** When a page first showed the owner, by GPU and pod. */
  readonly shownMs: Map<string, number>;
}

const keyOf = (device: string, pod: string): string => `${device} ${pod}`;

interface Comparison {
  readonly wrong: string[];
  /** How long after its end an owner was still shown. */
  longestStaleMs: number;
}

/** Compares the owners on the agent's page with the kubelet's lists. The time of a page is that of its request, as in Prometheus. */
async function compare({ kubelet, agent, shownMs }: ChurnNode, into: Comparison): Promise<void> {
  const askedMs = performance.now();
  const page = await (await fetch(`${agent.url}/metrics`)).text();
  const allocations = new Map(
    kubelet.allocations().map((one) => [keyOf(one.device, one.pod), one]),
  );
  for (const line of page.split("\n")) {
    if (!line.startsWith("gpu_owner_info{")) continue;
    const pod = /[{,]pod="([^"]*)"/.exec(line)?.[1] ?? "";
    const uuid = /[{,]uuid="([^"]*)"/.exec(line)?.[1] ?? "";
    const key = keyOf(uuid, pod);
    const allocation = allocations.get(key);
    const staleMs = askedMs - (allocation?.untilMs ?? askedMs);
    into.longestStaleMs = Math.max(into.longestStaleMs, staleMs);
    if (allocation === undefined || staleMs > TOLERATED_MS) into.wrong.push(line);
    else if (!shownMs.has(key)) shownMs.set(key, askedMs);
  }
}

test(
  `${ALLOCATIONS} allocations with churn: every owner right, hardly one late`,
  { timeout: 1_800_000 },
  async (context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const kubernetes = await orSkip(context, startKubernetes());
    onTestFinished(() => kubernetes.stop());
    await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    const stub = await buildStub();
    onTestFinished(() => stub.remove());
    stub.script(`gpus ${GPUS}`);
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-churn-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const plugin = { [RESOURCE]: Array.from({ length: GPUS }, (_, index) => uuidOf(index)) };
    const nodes: ChurnNode[] = [];
    for (const name of NODES) {
      await addNode(kubernetes, { name, plugin });
      const socket = path.join(folder, `${name}.sock`);
      const kubelet = await startNodeKubelet(kubernetes, { socket, node: { name, plugin } });
      onTestFinished(() => kubelet.close());
      const source = ["--source", `nvidia:?library=${stub.library}`, "--interval", "5s"];
      const where = ["--host-name", name, "--kubelet-socket", socket, "--procfs", folder];
      const agent = await startAgent([...source, ...where]);
      onTestFinished(() => agent.stop());
      nodes.push({ kubelet, agent, shownMs: new Map() });
    }

    // Each page has its own schedule, so a slow API server delays no comparison.
    const comparison: Comparison = { wrong: [], longestStaleMs: 0 };
    const stopped = new AbortController();
    const comparisons = Promise.all(
      nodes.map(async (node) => {
        while (!stopped.signal.aborted) {
          await compare(node, comparison);
          await sleep(1_000);
        }
      }),
    );

    let created = 0;
    const ends = new Map<string, number>();
    /** Deletes the pods whose time is up and creates replacements; returns false once all of them have ended. */
    const churn = async (): Promise<boolean> => {
      const nowMs = performance.now();
      const due = [...ends].filter(([, endMs]) => endMs <= nowMs).map(([name]) => name);
      await Promise.all(due.map((name) => kubernetes.api("DELETE", `${PODS}/${name}`)));
      for (const name of due) ends.delete(name);
      const room = Math.min(32, NODES.length * GPUS - ends.size, ALLOCATIONS - created);
      const pods = Array.from({ length: Math.max(0, room) }, () => `churn-${created++}`);
      await Promise.all(
        pods.map((name) => kubernetes.create(PODS, gpuPod(name, { limits: { [RESOURCE]: "1" } }))),
      );
      for (const name of pods)
        ends.set(name, nowMs + SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS));
      return ends.size > 0;
    };
    try {
      while (await churn()) await sleep(200);
    } finally {
      stopped.abort();
      await comparisons;
    }

    const delaysMs = nodes
      .flatMap(({ kubelet, shownMs }) =>
        kubelet.allocations().map(({ device, pod, sinceMs, untilMs = performance.now() }) => {
          const key = keyOf(device, pod);
          const endMs = shownMs.get(key) ?? untilMs;
          return { isShown: shownMs.has(key), delayMs: Math.max(0, endMs - sinceMs) };
        }),
      )
      .sort((one, other) => one.delayMs - other.delayMs);
    const { wrong, longestStaleMs } = comparison;
    const late = delaysMs.filter(({ delayMs }) => delayMs > TOLERATED_MS).length;
    const shown = delaysMs.filter(({ isShown }) => isShown);
    const logs = nodes.map(({ agent }) => agent.process.output()).join("\n");
    const p99Ms = shown[Math.floor(shown.length * 0.99)]?.delayMs ?? Number.NaN;
    process.stdout.write(
      `${delaysMs.length} allocations, ${shown.length} shown: ${wrong.length} wrong owners, ${late} missing for more than 10 s, ` +
        `shown after ${Math.round(p99Ms)} ms (p99), ended after ${Math.round(longestStaleMs)} ms at most\n`,
    );
    expect(delaysMs.length).toBeGreaterThanOrEqual(ALLOCATIONS * 0.99);
    expect(shown.length).toBeGreaterThanOrEqual(ALLOCATIONS * 0.98);
    expect(wrong).toEqual([]);
    expect(late, logs).toBeLessThanOrEqual(ALLOCATIONS * MISSING_RATIO);
  },
);
