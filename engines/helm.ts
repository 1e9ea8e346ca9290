// Helm, and a strict check of what it renders against Kubernetes's own types. Neither talks to a cluster.

import { goBuilt, goInstalled } from "./go.ts";
import type { Finished } from "./process.ts";
import { runProcess } from "./process.ts";

const HELM = "helm.sh/helm/v3/cmd/helm@v3.22.0";

/** Helm's path; built on first use. */
export async function findHelm(): Promise<string> {
  return goInstalled("helm", HELM);
}

export async function findKubeCheck(): Promise<string> {
  return goBuilt("kube-check");
}

/** Helm with nothing of the user's own: no plugins, no repositories, no cluster. */
export async function runHelm(args: readonly string[]): Promise<Finished> {
  const env = { HELM_NO_PLUGINS: "1", KUBECONFIG: "/nonexistent/kubeconfig" };
  return runProcess(await findHelm(), args, { timeoutMs: 120_000, env });
}

export interface Checked {
  readonly document: number;
  readonly kind: string;
  readonly name: string;
  /** Empty where the API server would take every field. */
  readonly errors: readonly string[];
}

/** What Kubernetes's types say of each YAML document. */
export async function checkManifests(text: string): Promise<readonly Checked[]> {
  const done = await runProcess(await findKubeCheck(), [], { input: text });
  if (done.code === 0 || done.code === 1) return JSON.parse(done.stdout) as Checked[];
  throw new Error(`kube-check failed: ${done.stderr.trim()}`);
}
