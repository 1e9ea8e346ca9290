/**
 * How to connect to the API server: from the configuration, a kubeconfig, or the service account of the pod this process runs in.
 * Never runs a credential program configured in a kubeconfig.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { formatError } from "../../../../base/error.ts";
import type { HttpClientConfig, TlsConfig } from "../../../../net/http/auth-config.ts";
import { Secret } from "../../../../net/http/secret.ts";
import type { KubernetesDiscovery } from "../../config/types.ts";

export interface KubeConnection {
  /** Without a trailing slash. */
  readonly server: string;
  readonly http: HttpClientConfig;
  /** The namespace of the pod or of the kubeconfig's context. */
  readonly ownNamespace: string | undefined;
}

export interface KubeEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of a pod's service account. */
  readonly accountDir?: string;
}

const usualAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";

export async function connectionOf(
  config: KubernetesDiscovery,
  { env, accountDir = usualAccountDir }: KubeEnvironment,
): Promise<KubeConnection> {
  const namespaceFile = path.join(accountDir, "namespace");
  if (config.apiServer !== undefined)
    return {
      server: config.apiServer.replace(/\/+$/, ""),
      http: config.http,
      ownNamespace: await readFile(namespaceFile, "utf8").catch(() => undefined),
    };
  if (config.kubeconfigFile !== undefined) return fromKubeconfig(config.kubeconfigFile);
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (host === undefined || port === undefined)
    throw new Error(
      "this is not a pod of a cluster: give api_server or kubeconfig_file in kubernetes_sd_configs",
    );
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    http: {
      ...config.http,
      authorization: { type: "Bearer", credentialsFile: path.join(accountDir, "token") },
      tls: { ...config.http.tls, caFile: path.join(accountDir, "ca.crt") },
    },
    ownNamespace: (await readFile(namespaceFile, "utf8")).trim(),
  };
}

interface NamedEntry {
  readonly name?: string;
}
interface Kubeconfig {
  readonly "current-context"?: string;
  readonly contexts?: readonly (NamedEntry & {
    readonly context?: {
      readonly cluster?: string;
      readonly user?: string;
      readonly namespace?: string;
    };
  })[];
  readonly clusters?: readonly (NamedEntry & {
    readonly cluster?: Readonly<Record<string, unknown>>;
  })[];
  readonly users?: readonly (NamedEntry & { readonly user?: Readonly<Record<string, unknown>> })[];
}

async function fromKubeconfig(file: string): Promise<KubeConnection> {
  const { parseDocument } = await import("../../../../config/yaml.ts");
  let config: Kubeconfig;
  try {
    const document = parseDocument(await readFile(file, "utf8"), { prettyErrors: false });
    if (document.errors[0] !== undefined) throw document.errors[0];
    config = document.toJS({ maxAliasCount: 50 }) as Kubeconfig;
  } catch (thrown) {
    throw new Error(`the kubeconfig ${file} cannot be read: ${formatError(thrown)}`, {
      cause: thrown,
    });
  }
  const context = findByName(config.contexts, config["current-context"])?.context;
  const cluster = findByName(config.clusters, context?.cluster)?.cluster;
  const user = findByName(config.users, context?.user)?.user ?? {};
  const server = text(cluster, "server");
  if (cluster === undefined || server === undefined)
    throw new Error(`the kubeconfig ${file} names no server for its current context`);
  if (user["exec"] !== undefined || user["auth-provider"] !== undefined)
    throw new Error(
      `the kubeconfig ${file} gets its credentials from a program, which is not run here: give it a token or a certificate`,
    );
  const folder = path.dirname(file);
  return {
    server: server.replace(/\/+$/, ""),
    ownNamespace: context?.namespace ?? "default",
    http: {
      followRedirects: true,
      headers: [],
      ...credentialsOf(user, folder),
      tls: tlsOf(cluster, user, folder),
    },
  };
}

function credentialsOf(
  user: Readonly<Record<string, unknown>>,
  folder: string,
): Pick<HttpClientConfig, "authorization" | "basicAuth"> {
  const token = text(user, "token");
  const tokenFile = text(user, "tokenFile");
  if (tokenFile !== undefined)
    return { authorization: { type: "Bearer", credentialsFile: path.resolve(folder, tokenFile) } };
  if (token !== undefined)
    return { authorization: { type: "Bearer", credentials: new Secret(token) } };
  const username = text(user, "username");
  if (username === undefined) return {};
  return { basicAuth: { username, password: new Secret(text(user, "password") ?? "") } };
}

function tlsOf(
  cluster: Readonly<Record<string, unknown>>,
  user: Readonly<Record<string, unknown>>,
  folder: string,
): TlsConfig {
  const ca = decoded(cluster, "certificate-authority-data");
  const caFile = text(cluster, "certificate-authority");
  const cert = decoded(user, "client-certificate-data");
  const certFile = text(user, "client-certificate");
  const key = decoded(user, "client-key-data");
  const keyFile = text(user, "client-key");
  const serverName = text(cluster, "tls-server-name");
  return {
    ...(ca !== undefined
      ? { ca }
      : caFile !== undefined
        ? { caFile: path.resolve(folder, caFile) }
        : {}),
    ...(cert !== undefined
      ? { cert }
      : certFile !== undefined
        ? { certFile: path.resolve(folder, certFile) }
        : {}),
    ...(key !== undefined
      ? { key: new Secret(key) }
      : keyFile !== undefined
        ? { keyFile: path.resolve(folder, keyFile) }
        : {}),
    ...(serverName === undefined ? {} : { serverName }),
    insecureSkipVerify: cluster["insecure-skip-tls-verify"] === true,
  };
}

const findByName = <Entry extends NamedEntry>(
  list: readonly Entry[] | undefined,
  name: string | undefined,
): Entry | undefined => list?.find((entry) => entry.name === name);

function text(of: Readonly<Record<string, unknown>> | undefined, key: string): string | undefined {
  const value = of?.[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function decoded(of: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = text(of, key);
  return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
}
