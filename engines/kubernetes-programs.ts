// The programs of the Kubernetes control plane and kwok, which simulates nodes and pods, built once from engines/go/kubernetes
// and engines/go/kwok: about a quarter of an hour on two cores. Too slow for a test: `npm run test:engines` uses them if they are
// in the cache, `test:engines:full` builds them.

import path from "node:path";

import { goBuilt, goModuleFiles } from "./go.ts";

const KUBERNETES_VERSION = "1.34.4";

const COMMANDS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
const KWOK = "sigs.k8s.io/kwok/cmd/kwok";
const BUILD_TIMEOUT_MS = 3_600_000;
const MISSING =
  "the Kubernetes control plane is not built in the cache: run npx tsx engines/bring.ts Kubernetes";

const [major = "", minor = ""] = KUBERNETES_VERSION.split(".");
const VERSION_PACKAGE = "k8s.io/component-base/version";

/** A build without a version reports v0.0.0 and rejects its own feature gates. */
export const KUBERNETES_VARIABLES: readonly string[] = [
  `${VERSION_PACKAGE}.gitVersion=v${KUBERNETES_VERSION}`,
  `${VERSION_PACKAGE}.gitMajor=${major}`,
  `${VERSION_PACKAGE}.gitMinor=${minor}`,
  `k8s.io/client-go/pkg/version.gitVersion=v${KUBERNETES_VERSION}`,
];

export interface KubernetesPrograms {
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  readonly kwok: string;
  /** Custom resource definitions of the Prometheus operator, one file each. */
  readonly definitions: string;
}

const OPERATOR = "github.com/prometheus-operator/prometheus-operator";
const KINDS = ["podmonitors", "servicemonitors", "prometheusrules"];

async function programs(cachedOnly?: string): Promise<KubernetesPrograms> {
  const cached = cachedOnly === undefined ? {} : { cachedOnly };
  const kwok = await goBuilt("kwok", { beside: [KWOK], ...cached });
  const folder = await goBuilt("kubernetes", {
    beside: COMMANDS.map((command) => `k8s.io/kubernetes/cmd/${command}`),
    variables: KUBERNETES_VARIABLES,
    timeoutMs: BUILD_TIMEOUT_MS,
    env: { CGO_ENABLED: "0" },
    ...cached,
  });
  const definitions = await goModuleFiles("prometheus-operator", {
    module: OPERATOR,
    files: KINDS.map(
      (kind) => `example/prometheus-operator-crd/monitoring.coreos.com_${kind}.yaml`,
    ),
    ...cached,
  });
  const at = (name: string): string => path.join(folder, name);
  return {
    apiServer: at("kube-apiserver"),
    controllerManager: at("kube-controller-manager"),
    scheduler: at("kube-scheduler"),
    kwok: path.join(kwok, "kwok"),
    definitions,
  };
}

/** Returns the built programs; throws EngineMissingError if they were never built on this machine. */
export async function kubernetesPrograms(): Promise<KubernetesPrograms> {
  return programs(MISSING);
}

export async function buildKubernetes(): Promise<KubernetesPrograms> {
  return programs();
}
