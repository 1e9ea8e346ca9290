// prometheus-adapter in a real control plane: it serves external.metrics.k8s.io from the queries of its configuration. Built once
// from engines/go/prometheus-adapter: `npm run test:engines:full` builds it; without it in the cache a test is skipped.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { serveExternalMetrics } from "./external-metrics.ts";
import { goBuilt } from "./go.ts";
import type { RunningKubernetes } from "./kubernetes.ts";
import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";

const PROGRAM = "sigs.k8s.io/prometheus-adapter/cmd/adapter";
const BUILD_TIMEOUT_MS = 3_600_000;
const MISSING =
  "prometheus-adapter is not built in the cache: run npx tsx engines/bring.ts PrometheusAdapter";
const NAMESPACE = "prometheus-adapter";
const SERVICE = "prometheus-adapter";

async function built(cachedOnly?: string): Promise<string> {
  const folder = await goBuilt("prometheus-adapter", {
    beside: [PROGRAM],
    timeoutMs: BUILD_TIMEOUT_MS,
    env: { CGO_ENABLED: "0" },
    ...(cachedOnly === undefined ? {} : { cachedOnly }),
  });
  return path.join(folder, "adapter");
}

export async function buildPrometheusAdapter(): Promise<string> {
  return built();
}

export interface RunningAdapter {
  output(): string;
  stop(): Promise<void>;
}

/** `config` is the text of its configuration file. Throws EngineMissingError if the program was never built on this machine. */
export async function startPrometheusAdapter(
  kubernetes: RunningKubernetes,
  prometheus: string,
  config: string,
): Promise<RunningAdapter> {
  const program = await built(MISSING);
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-adapter-"));
  const file = (name: string, text: string): string => {
    const at = path.join(folder, name);
    writeFileSync(at, text, { mode: 0o600 });
    return at;
  };
  await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  const { cert, key } = kubernetes.authority.issue({
    commonName: SERVICE,
    names: ["127.0.0.1", "localhost", `${SERVICE}.${NAMESPACE}.svc`],
  });
  const port = await freePort();
  const adapter = startProcess(
    program,
    [
      `--prometheus-url=${prometheus}`,
      `--config=${file("config.yaml", config)}`,
      "--metrics-relist-interval=1s",
      "--metrics-max-age=5m",
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      `--tls-cert-file=${file("tls.crt", cert)}`,
      `--tls-private-key-file=${file("tls.key", key)}`,
      ...["lister", "authentication", "authorization"].map(
        (use) => `--${use}-kubeconfig=${kubernetes.kubeconfig}`,
      ),
    ],
    { name: "prometheus-adapter" },
  );
  const stop = async (): Promise<void> => {
    await adapter.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const server = { namespace: NAMESPACE, service: SERVICE, port, process: adapter };
    await serveExternalMetrics(kubernetes, server);
  } catch (error) {
    await stop();
    throw error;
  }
  return { output: () => adapter.output(), stop };
}
