// KEDA in a real control plane: its operator, which reads metrics and creates HorizontalPodAutoscalers, and its metrics server,
// which serves external.metrics.k8s.io to their controller. Built once from engines/go/keda with every cloud's library, in a
// quarter of an hour: `npm run test:engines:full` builds it; without it in the cache a test is skipped.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { serveExternalMetrics } from "./external-metrics.ts";
import { goBuilt, goModuleFiles } from "./go.ts";
import type { RunningKubernetes } from "./kubernetes.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

const COMMANDS = ["operator", "adapter"];
const BUILD_TIMEOUT_MS = 3_600_000;
const MISSING = "KEDA is not built in the cache: run npx tsx engines/bring.ts KEDA";

interface KedaPrograms {
  readonly operator: string;
  /** Serves external.metrics.k8s.io from the operator's data. */
  readonly adapter: string;
  /** Its custom resource definitions, one file each. */
  readonly definitions: string;
}

const MODULE = "github.com/kedacore/keda/v2";
const KINDS = [
  "keda.sh_scaledobjects",
  "keda.sh_scaledjobs",
  "keda.sh_triggerauthentications",
  "keda.sh_clustertriggerauthentications",
  "eventing.keda.sh_cloudeventsources",
  "eventing.keda.sh_clustercloudeventsources",
];

async function programs(cachedOnly?: string): Promise<KedaPrograms> {
  const cached = cachedOnly === undefined ? {} : { cachedOnly };
  const folder = await goBuilt("keda", {
    beside: COMMANDS.map((command) => `${MODULE}/cmd/${command}`),
    timeoutMs: BUILD_TIMEOUT_MS,
    env: { CGO_ENABLED: "0" },
    ...cached,
  });
  const definitions = await goModuleFiles("keda", {
    module: MODULE,
    files: KINDS.map((kind) => `config/crd/bases/${kind}.yaml`),
    ...cached,
  });
  const at = (name: string): string => path.join(folder, name);
  return { operator: at("operator"), adapter: at("adapter"), definitions };
}

export async function buildKeda(): Promise<KedaPrograms> {
  return programs();
}

export interface RunningKeda {
  /** The output of operator and metrics server. */
  output(): string;
  stop(): Promise<void>;
}

const NAMESPACE = "keda";
const SERVICE = "keda-metrics-apiserver";
const START_TIMEOUT_MS = 120_000;

/** Throws EngineMissingError if the programs were never built on this machine. */
export async function startKeda(kubernetes: RunningKubernetes): Promise<RunningKeda> {
  const { operator, adapter, definitions } = await programs(MISSING);
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-keda-"));
  const running: RunningProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const one of running.toReversed()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const output = (): string => running.map((one) => one.output()).join("\n");
  try {
    await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    await kubernetes.define(definitions);
    const certificates = path.join(folder, "certificates");
    mkdirSync(certificates);
    const { authority } = kubernetes;
    const { cert, key } = authority.issue({
      commonName: "keda",
      names: ["127.0.0.1", "localhost", `${SERVICE}.${NAMESPACE}.svc`],
    });
    const file = (name: string, text: string): string => {
      const at = path.join(certificates, name);
      writeFileSync(at, text, { mode: 0o600 });
      return at;
    };
    const [ca, tlsCert, tlsKey] = [
      file("ca.crt", authority.cert),
      file("tls.crt", cert),
      file("tls.key", key),
    ];
    const [probePort, grpcPort, apiPort, metricsPort] = await Promise.all([
      freePort(),
      freePort(),
      freePort(),
      freePort(),
    ]);
    const env = {
      KUBECONFIG: kubernetes.kubeconfig,
      POD_NAMESPACE: NAMESPACE,
      WATCH_NAMESPACE: "",
      KEDA_CLUSTER_OBJECT_NAMESPACE: NAMESPACE,
    };
    const start = (name: string, command: string, args: readonly string[]): RunningProcess => {
      const started = startProcess(command, args, { name, env });
      running.push(started);
      return started;
    };
    const operating = start("KEDA's operator", operator, [
      "--enable-prometheus-metrics=false",
      `--health-probe-bind-address=127.0.0.1:${probePort}`,
      `--metrics-service-bind-address=127.0.0.1:${grpcPort}`,
      `--cert-dir=${certificates}`,
      "--enable-webhook-patching=false",
      "--enable-apiservice-patching=false",
    ]);
    await operating.waitForUrl(`http://127.0.0.1:${probePort}/readyz`, START_TIMEOUT_MS);
    const serving = start("KEDA's metrics server", adapter, [
      `--secure-port=${apiPort}`,
      "--bind-address=127.0.0.1",
      `--port=${metricsPort}`,
      `--metrics-service-address=127.0.0.1:${grpcPort}`,
      `--cert-dir=${certificates}`,
      `--client-ca-file=${ca}`,
      `--tls-cert-file=${tlsCert}`,
      `--tls-private-key-file=${tlsKey}`,
      ...["lister", "authentication", "authorization"].map(
        (use) => `--${use}-kubeconfig=${kubernetes.kubeconfig}`,
      ),
    ]);
    await serveExternalMetrics(kubernetes, {
      namespace: NAMESPACE,
      service: SERVICE,
      port: apiPort,
      process: serving,
    });
    return { output, stop };
  } catch (error) {
    const words = output().slice(-3_000);
    await stop();
    throw error instanceof Error ? new Error(`${error.message}\n${words}`) : error;
  }
}
