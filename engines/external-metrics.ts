// Registers a metrics server on loopback with the API server for external.metrics.k8s.io, which HorizontalPodAutoscalers query.

import type { RunningKubernetes } from "./kubernetes.ts";
import type { RunningProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

const START_TIMEOUT_MS = 120_000;
const METRICS_API = "v1beta1.external.metrics.k8s.io";

export interface MetricsServer {
  readonly namespace: string;
  /** A name in its certificate, as `NAME.NAMESPACE.svc`. */
  readonly service: string;
  readonly port: number;
  readonly process: RunningProcess;
}

/** Resolves when the API server serves responses from it. */
export async function serveExternalMetrics(
  kubernetes: RunningKubernetes,
  { namespace, service, port, process: serving }: MetricsServer,
): Promise<void> {
  // There is no pod network: the API server reaches the metrics server through the name in the Service.
  await kubernetes.create(`/api/v1/namespaces/${namespace}/services`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: service, namespace },
    spec: { type: "ExternalName", externalName: "localhost" },
  });
  await kubernetes.create("/apis/apiregistration.k8s.io/v1/apiservices", {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: METRICS_API },
    spec: {
      service: { name: service, namespace, port },
      group: "external.metrics.k8s.io",
      version: "v1beta1",
      groupPriorityMinimum: 100,
      versionPriority: 100,
      caBundle: Buffer.from(kubernetes.authority.cert).toString("base64"),
    },
  });
  await waitUntil(
    {
      what: "external.metrics.k8s.io to be served",
      timeoutMs: START_TIMEOUT_MS,
      giveUp: () => (serving.exited() === undefined ? undefined : serving.output().slice(-2_000)),
    },
    async () => {
      const { status } = await kubernetes.api("GET", "/apis/external.metrics.k8s.io/v1beta1");
      return status === 200 ? true : undefined;
    },
  );
}
