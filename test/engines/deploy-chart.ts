// The chart's rendered manifests as objects, with the fields that the tests check. Rendered once per set of values.

import { readdirSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";

import { chart, renderChart } from "../../engines/helm.ts";

export type Labels = Readonly<Record<string, string>>;

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly resources: {
    readonly requests: Labels;
    readonly limits: Labels;
  };
  readonly securityContext: {
    readonly privileged: boolean;
    readonly allowPrivilegeEscalation: boolean;
    readonly readOnlyRootFilesystem: boolean;
    readonly capabilities: { readonly drop: readonly string[]; readonly add?: readonly string[] };
  };
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
}

export interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly hostPID?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostIPC?: boolean;
  readonly runtimeClassName?: string;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: {
    readonly runAsNonRoot: boolean;
    readonly runAsUser: number;
    readonly runAsGroup: number;
    readonly seccompProfile: { readonly type: string };
  };
  readonly containers: readonly Container[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly hostPath?: { readonly path: string };
    readonly secret?: { readonly secretName: string };
  }[];
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  readonly data?: Labels;
  readonly stringData?: Labels;
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: string[] }[];
  readonly spec?: unknown;
}

export interface Workload extends Manifest {
  readonly spec: {
    readonly selector: { readonly matchLabels: Labels };
    readonly updateStrategy?: { readonly type: string };
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  };
}

/** Names of the example values files, without their extension. */
export const examples: readonly string[] = readdirSync(path.join(chart, "examples"))
  .filter((file) => file.endsWith(".yaml"))
  .map((file) => file.slice(0, -".yaml".length))
  .sort();

const texts = new Map<string, Promise<string>>();

export async function renderedText(example: string): Promise<string> {
  const text =
    texts.get(example) ??
    renderChart({
      release: "gp",
      namespace: "gpu",
      values: path.join(chart, "examples", `${example}.yaml`),
    });
  texts.set(example, text);
  return text;
}

export function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

export async function rendered(example: string): Promise<readonly Manifest[]> {
  return manifestsOf(await renderedText(example));
}

export function ofKind(manifests: readonly Manifest[], kind: string): readonly Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

export function workloads(manifests: readonly Manifest[]): readonly Workload[] {
  return ["DaemonSet", "StatefulSet", "Deployment"].flatMap(
    (kind) => ofKind(manifests, kind) as Workload[],
  );
}

export const selects = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);
