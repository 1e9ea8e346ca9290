/** Targets of a Kubernetes cluster: watches the objects a role needs, and rebuilds an object's group when it changes. */
import { formatError } from "../../../../base/error.ts";
import { HttpClient } from "../../../../net/http/client.ts";
import type { Log } from "../../../../base/log.ts";
import type { KubernetesDiscovery, KubernetesRole } from "../../config/types.ts";
import type { DiscoveredGroup, Discovery } from "../group.ts";
import { connectionOf, type KubeConnection, type KubeEnvironment } from "./connection.ts";
import { endpointsRole, ingressRole, nodeRole, podRole, serviceRole } from "./roles.ts";
import { endpointsliceRole } from "./endpointslice.ts";
import { follow } from "./follow.ts";
import { TargetGroupIndex } from "./target-group-index.ts";
import type { Resource } from "./objects.ts";
import type { DiscoveryRole } from "./labels.ts";

const roles: { readonly [Kind in KubernetesRole]: DiscoveryRole<Kind> } = {
  node: nodeRole,
  pod: podRole,
  service: serviceRole,
  endpoints: endpointsRole,
  endpointslice: endpointsliceRole,
  ingress: ingressRole,
};

const api: Readonly<Record<Resource, { readonly group: string; readonly plural: string }>> = {
  node: { group: "/api/v1", plural: "nodes" },
  pod: { group: "/api/v1", plural: "pods" },
  service: { group: "/api/v1", plural: "services" },
  endpoints: { group: "/api/v1", plural: "endpoints" },
  endpointslice: { group: "/apis/discovery.k8s.io/v1", plural: "endpointslices" },
  ingress: { group: "/apis/networking.k8s.io/v1", plural: "ingresses" },
};

/** Debounce: events come in bursts. */
const settleMs = 50;
const retryMs = 10_000;
const maxSockets = 1_000;

export interface KubernetesOptions extends KubeEnvironment {
  readonly log: Log;
  readonly random: () => number;
}

export function kubernetesDiscovery(
  config: KubernetesDiscovery,
  options: KubernetesOptions,
): Discovery {
  const closing = new AbortController();
  let client: HttpClient | undefined;
  let timer: NodeJS.Timeout | undefined;

  const start = async (emit: (groups: readonly DiscoveredGroup[]) => void): Promise<void> => {
    try {
      const connection = await connectionOf(config, options);
      if (closing.signal.aborted) return;
      // Every watch occupies a connection for its whole duration.
      client = new HttpClient(connection.http, maxSockets);
      followAll(client, connection, emit);
    } catch (thrown) {
      options.log.warn("Kubernetes API unreachable", { error: formatError(thrown) });
      if (closing.signal.aborted) return;
      emit([]);
      timer = setTimeout(() => void start(emit), retryMs);
    }
  };

  const followAll = (
    http: HttpClient,
    connection: KubeConnection,
    emit: (groups: readonly DiscoveredGroup[]) => void,
  ): void => {
    const role = roles[config.role];
    const attachNodes = config.attachNodeMetadata && config.role !== "node";
    const book = new TargetGroupIndex(role, attachNodes);
    const kinds = [role.resource, ...role.beside, ...(attachNodes ? (["node"] as const) : [])];
    const urls = kinds.flatMap((kind) =>
      addresses(kind, config, connection).map((url) => ({ kind, url })),
    );
    const waiting = new Set(urls.map(({ url }) => url));
    const listed = (url: string): void => {
      waiting.delete(url);
      if (waiting.size > 0 || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        const groups = book.groups();
        if (groups !== undefined) emit(groups);
      }, settleMs);
    };
    for (const { kind, url } of urls)
      void follow({
        url,
        client: http,
        log: options.log,
        random: options.random,
        signal: closing.signal,
        listed(objects) {
          book.list(kind, url, objects);
          listed(url);
        },
        changed(object) {
          book.put(kind, url, object);
          listed(url);
        },
        deleted(object) {
          book.remove(kind, url, object);
          listed(url);
        },
        failed: () => listed(url),
      });
  };

  return {
    start: (emit) => void start(emit),
    close() {
      closing.abort();
      clearTimeout(timer);
      client?.close();
    },
  };
}

/** One list URL per watched namespace; nodes have no namespace. */
function addresses(
  kind: Resource,
  config: KubernetesDiscovery,
  { server, ownNamespace }: KubeConnection,
): readonly string[] {
  const { group, plural } = api[kind];
  const namespaces = new Set(config.namespaces.names);
  if (config.namespaces.ownNamespace && ownNamespace !== undefined)
    namespaces.add(ownNamespace.trim());
  const paths =
    kind === "node" || namespaces.size === 0
      ? [`${group}/${plural}`]
      : [...namespaces].map(
          (namespace) => `${group}/namespaces/${encodeURIComponent(namespace)}/${plural}`,
        );
  const selector = config.selectors.find(({ role }) => role === kind);
  return paths.map((path) => {
    const url = new URL(server + path);
    if (selector?.label !== undefined) url.searchParams.set("labelSelector", selector.label);
    if (selector?.field !== undefined) url.searchParams.set("fieldSelector", selector.field);
    return url.href;
  });
}
