/** Selects the proxy of a request: from the configuration or from HTTP_PROXY, HTTPS_PROXY and NO_PROXY, with Go's rules. */
import { contains, isLoopback, parseRange } from "./address-ranges.ts";
import type { Secret } from "./secret.ts";

/** Prometheus's keys `proxy_url`, `no_proxy`, `proxy_from_environment` and `proxy_connect_header`. */
export interface ProxyConfig {
  /** A secret, since it may hold a password. */
  readonly url?: Secret;
  readonly noProxy: string;
  readonly fromEnvironment: boolean;
  /** Sent to the proxy with CONNECT. */
  readonly connectHeaders: Readonly<Record<string, readonly Secret[]>>;
}

export interface ProxyServer {
  readonly protocol: "http:" | "https:" | "socks5:";
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly connectHeaders: Readonly<Record<string, string>>;
}

export type ProxyFor = (target: URL) => ProxyServer | undefined;

/** Undefined unless `text` is a URL with a host and the scheme http, https, socks5 or socks5h. */
export function parseProxy(
  text: string,
  connectHeaders: Readonly<Record<string, string>> = {},
): ProxyServer | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const protocol = url.protocol === "socks5h:" ? "socks5:" : url.protocol;
  if (protocol !== "http:" && protocol !== "https:" && protocol !== "socks5:") return undefined;
  if (url.hostname === "") return undefined;
  const [username, password] = [url.username, url.password].map(decoded);
  if (username === undefined || password === undefined) return undefined;
  const usual = { "http:": 80, "https:": 443, "socks5:": 1_080 }[protocol];
  return {
    protocol,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? usual : Number(url.port),
    username,
    password,
    connectHeaders,
  };
}

/** Undefined for an invalid percent encoding. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export function proxyRoutes(
  config: ProxyConfig,
  env: Readonly<Record<string, string | undefined>>,
): ProxyFor {
  const connectHeaders = Object.fromEntries(
    Object.entries(config.connectHeaders).map(([name, values]) => [
      name,
      values.map((value) => value.reveal()).join(", "),
    ]),
  );
  const set = (name: string): string => env[name] || env[name.toLowerCase()] || "";
  const parse = (text: string): ProxyServer | undefined =>
    text === ""
      ? undefined
      : // The scheme is optional in the environment.
        (parseProxy(text, connectHeaders) ?? parseProxy(`http://${text}`, connectHeaders));
  if (!config.fromEnvironment) {
    const server = parse(config.url?.reveal() ?? "");
    const goesDirectly = config.noProxy === "" ? () => false : exceptions(config.noProxy);
    return (target) => (goesDirectly(target) ? undefined : server);
  }
  const servers = { http: parse(set("HTTP_PROXY")), https: parse(set("HTTPS_PROXY")) };
  const goesDirectly = exceptions(set("NO_PROXY"));
  return (target) => {
    if (goesDirectly(target)) return undefined;
    return target.protocol === "https:" ? servers.https : servers.http;
  };
}

/**
 * `10.0.0.0/8`, `192.0.2.7`, `example.com` (with its subdomains), `.example.com` and `*.example.com` (only the subdomains),
 * each with an optional `:PORT`, and `*`. Loopback never uses the proxy.
 */
function exceptions(list: string): (target: URL) => boolean {
  const entries = list
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== "")
    .map(exception);
  return (target) => {
    const host = target.hostname.toLowerCase().replace(/^\[|\]$/g, "");
    const port = Number(
      target.port === "" ? (target.protocol === "https:" ? 443 : 80) : target.port,
    );
    return isLoopback(host) || entries.some((matches) => matches(host, port));
  };
}

type Exception = (host: string, port: number) => boolean;

function exception(entry: string): Exception {
  if (entry === "*") return () => true;
  const range = parseRange(entry);
  if (range !== undefined)
    return (host, port) =>
      contains(range, host) && (range.port === undefined || range.port === port);
  const [, name = entry, onlyPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  const domain = name.replace(/^\*?\./, "");
  const matchesItself = domain === name;
  return (host, port) =>
    (onlyPort === undefined || Number(onlyPort) === port) &&
    (host.endsWith(`.${domain}`) || (matchesItself && host === domain));
}
