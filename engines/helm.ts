// Helm, and a strict validation of rendered manifests against Kubernetes's own types. Neither contacts a cluster.

import path from "node:path";
import { fileURLToPath } from "node:url";

import { goBuilt } from "./go.ts";
import { type FinishedProcess, runProcess } from "./process.ts";

/** A Helm that was not built by its release process assumes an old cluster version. */
const KUBERNETES = "1.34.0";

/** Returns both programs, built on first use: Helm is a tool of kube-check's go.mod. */
export async function kubeTools(): Promise<{ readonly helm: string; readonly check: string }> {
  const folder = await goBuilt("kube-check", { beside: ["helm.sh/helm/v3/cmd/helm"] });
  return { helm: path.join(folder, "helm"), check: path.join(folder, "kube-check") };
}

/** Runs Helm without the user's configuration: no plugins, no repositories, no cluster. */
export async function runHelm(args: readonly string[]): Promise<FinishedProcess> {
  const { helm } = await kubeTools();
  const env = { HELM_NO_PLUGINS: "1", KUBECONFIG: "/nonexistent/kubeconfig" };
  return runProcess(helm, args, { timeoutMs: 120_000, env });
}

export const chart = fileURLToPath(new URL("../deploy/helm/gpulse", import.meta.url));

export interface RenderOptions {
  readonly release: string;
  readonly namespace: string;
  /** A values file. */
  readonly values?: string;
  /** More values, in the form of `--set`. */
  readonly set?: readonly string[];
}

/** The chart's manifests as one YAML text; rejects with Helm's own error message. */
export async function renderChart(options: RenderOptions): Promise<string> {
  const { release, namespace, values, set = [] } = options;
  const what = ["template", release, chart, "--namespace", namespace];
  const more = values === undefined ? [] : ["--values", values];
  const settings = set.flatMap((one) => ["--set", one]);
  const done = await runHelm([...what, "--kube-version", KUBERNETES, ...more, ...settings]);
  if (done.code === 0) return done.stdout;
  throw new Error(done.stderr.replace(/^walk\.go.*\n/gm, "").trim());
}

export interface CheckedManifest {
  readonly document: number;
  readonly kind: string;
  readonly name: string;
  /** Empty if the API server would accept every field. */
  readonly errors: readonly string[];
}

/** Validates each YAML document against Kubernetes's types. */
export async function checkManifests(text: string): Promise<readonly CheckedManifest[]> {
  const { check } = await kubeTools();
  const done = await runProcess(check, [], { input: text });
  if (done.code === 0 || done.code === 1) return JSON.parse(done.stdout) as CheckedManifest[];
  throw new Error(`kube-check failed: ${done.stderr.trim()}`);
}
