/** Nodes at the Kubernetes API server: reads and patches gpulse's own taint and condition, and nothing else. */
import type { KubeEnvironment } from "../../sources/scrape/discovery/kubernetes/connection.ts";
import { ApiServer, ApiServerError } from "../kubernetes/api-server.ts";
import type { NodeTaintState } from "./plan.ts";

export const taintKey = "gpulse.io/unhealthy-gpu";
export const conditionType = "GpulseGpuHealthy";

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

interface NodeObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec?: { readonly taints?: readonly Taint[] };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

interface NodeList {
  readonly items?: readonly NodeObject[];
  readonly metadata?: { readonly continue?: string };
}

const pageSize = 500;

/** Another client changed the node since it was read: nothing was written, and the next round reads it again. */
export class NodeConflictError extends Error {}

export class NodeApi {
  readonly #server: ApiServer;
  #nodes: ReadonlyMap<string, NodeObject> = new Map();

  private constructor(server: ApiServer) {
    this.#server = server;
  }

  static async open(
    kubeconfigFile: string | undefined,
    environment: KubeEnvironment,
  ): Promise<NodeApi> {
    return new NodeApi(await ApiServer.open(kubeconfigFile, environment));
  }

  close(): void {
    this.#server.close();
  }

  async list(): Promise<readonly NodeTaintState[]> {
    const found = new Map<string, NodeObject>();
    let next = "";
    do {
      const query = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
      const page = await this.#server.call<NodeList>(
        "GET",
        `/api/v1/nodes?limit=${pageSize}${query}`,
      );
      for (const node of page.items ?? []) found.set(node.metadata.name, node);
      next = page.metadata?.continue ?? "";
    } while (next !== "");
    this.#nodes = found;
    return [...found.values()].map(({ metadata, spec, status }) => {
      const condition = status?.conditions?.find(({ type }) => type === conditionType);
      return {
        node: metadata.name,
        isTainted: spec?.taints?.some(({ key }) => key === taintKey) ?? false,
        isReportedHealthy: condition === undefined ? undefined : condition.status === "True",
      };
    });
  }

  /** Adds or removes gpulse's taint; the node's other taints stay. Fails with a conflict if the node changed since `list`. */
  async setTaint(name: string, isTainted: boolean): Promise<void> {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`BUG: node ${name} was not listed`);
    const others = (node.spec?.taints ?? []).filter(({ key }) => key !== taintKey);
    const own: Taint = { key: taintKey, value: "true", effect: "NoSchedule" };
    const taints = isTainted ? [...others, own] : others;
    await this.#patch(`/api/v1/nodes/${encodeURIComponent(name)}`, "application/merge-patch+json", {
      metadata: { resourceVersion: node.metadata.resourceVersion },
      spec: { taints: taints.length === 0 ? null : taints },
    });
  }

  async setCondition(
    name: string,
    isHealthy: boolean,
    message: string,
    time: string,
  ): Promise<void> {
    const condition = {
      type: conditionType,
      status: isHealthy ? "True" : "False",
      reason: isHealthy ? "GpusHealthy" : "GpuUnhealthy",
      message: message.slice(0, 1_024),
      lastHeartbeatTime: time,
      lastTransitionTime: time,
    };
    // A strategic merge patch merges conditions by their type.
    await this.#patch(
      `/api/v1/nodes/${encodeURIComponent(name)}/status`,
      "application/strategic-merge-patch+json",
      { status: { conditions: [condition] } },
    );
  }

  async #patch(path: string, type: string, body: unknown): Promise<void> {
    try {
      await this.#server.call("PATCH", path, { type, body });
    } catch (thrown) {
      if (thrown instanceof ApiServerError && thrown.status === 409)
        throw new NodeConflictError(`${path} was changed by another client`);
      throw thrown;
    }
  }
}
