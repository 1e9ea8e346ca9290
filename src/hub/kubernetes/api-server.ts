/** Client of the Kubernetes API server, with the credentials of a kubeconfig or of the pod's service account. */
import { HttpClient } from "../../net/http/client.ts";
import { request } from "../../net/http/request.ts";
import {
  connectionOf,
  type KubeEnvironment,
} from "../../sources/scrape/discovery/kubernetes/connection.ts";

const timeoutMs = 5_000;
const maxBytes = 64 * 1024 * 1024;

/** A response status other than 200. */
export class ApiServerError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class ApiServer {
  readonly #client: HttpClient;
  readonly #server: string;

  private constructor(client: HttpClient, server: string) {
    this.#client = client;
    this.#server = server;
  }

  static async open(
    kubeconfigFile: string | undefined,
    environment: KubeEnvironment,
  ): Promise<ApiServer> {
    const { server, http } = await connectionOf(
      {
        role: "node",
        ...(kubeconfigFile === undefined ? {} : { kubeconfigFile }),
        namespaces: { names: [], ownNamespace: false },
        selectors: [],
        attachNodeMetadata: false,
        http: { tls: { insecureSkipVerify: false }, followRedirects: false, headers: [] },
      },
      environment,
    );
    return new ApiServer(new HttpClient(http), server);
  }

  close(): void {
    this.#client.close();
  }

  async call<T>(
    method: "GET" | "PATCH",
    path: string,
    sent?: { readonly type: string; readonly body: unknown },
  ): Promise<T> {
    const { headers, agent } = await this.#client.options();
    const answer = await request(`${this.#server}${path}`, {
      method,
      headers: {
        accept: "application/json",
        ...headers,
        ...(sent === undefined ? {} : { "content-type": sent.type }),
      },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent.body) }),
      agent,
      timeoutMs,
      maxBytes,
    });
    if (answer.status !== 200)
      throw new ApiServerError(
        answer.status,
        `the API server answered ${method} ${path.split("?")[0]} with ${answer.status}: ${answer.body.toString("utf8").slice(0, 300)}`,
      );
    return JSON.parse(answer.body.toString("utf8")) as T;
  }
}
