/**
 * Connections through a proxy: a tunnel opened with CONNECT (RFC 9110) or SOCKS5 (RFC 1928, RFC 1929). Error messages name the
 * proxy's host and never its password.
 */
import http from "node:http";
import https from "node:https";
import net from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import tls from "node:tls";
import type { ProxyServer } from "./proxy.ts";

/** The longest timeout of any request; the request's own deadline ends most attempts sooner. */
const connectTimeoutMs = 60_000;

interface Target {
  readonly host: string;
  readonly port: number;
}

type ConnectCallback = (error: Error | null, stream: Duplex) => void;

export const proxyAuthorization = ({
  username,
  password,
}: ProxyServer): Readonly<Record<string, string>> =>
  username === "" && password === ""
    ? {}
    : {
        "proxy-authorization": `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
      };

/** TLS to the target through a tunnel. */
export class SecureTunnelAgent extends https.Agent {
  readonly #server: ProxyServer;

  constructor(options: https.AgentOptions, server: ProxyServer) {
    super(options);
    this.#server = server;
  }

  override createConnection(options: ConnectionOptions, created?: ConnectCallback): undefined {
    const target = targetOf(options, 443);
    const secured = (socket: net.Socket): Duplex =>
      tls.connect({
        ...options,
        socket,
        servername: options.servername ?? (net.isIP(target.host) === 0 ? target.host : ""),
      });
    openTunnel(this.#server, target, this.options).then(
      (socket) => created?.(null, secured(socket)),
      (thrown: unknown) => fail(thrown, created),
    );
  }
}

/** To the target through a SOCKS5 proxy, without TLS. */
export class PlainTunnelAgent extends http.Agent {
  readonly #server: ProxyServer;

  constructor(options: http.AgentOptions, server: ProxyServer) {
    super(options);
    this.#server = server;
  }

  override createConnection(options: ConnectionOptions, created?: ConnectCallback): undefined {
    openTunnel(this.#server, targetOf(options, 80), {}).then(
      (socket) => created?.(null, socket),
      (thrown: unknown) => fail(thrown, created),
    );
  }
}

function fail(thrown: unknown, created: ConnectCallback | undefined): void {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  // If there is an error, Node ignores the stream; its type requires one.
  created?.(error, new net.Socket());
}

const targetOf = ({ host, port }: ConnectionOptions, usual: number): Target => ({
  host: host ?? "localhost",
  port: port ?? usual,
});

function openTunnel(
  server: ProxyServer,
  target: Target,
  secure: ConnectionOptions,
): Promise<net.Socket> {
  return server.protocol === "socks5:"
    ? openSocks(server, target)
    : openConnect(server, target, secure);
}

const shownServer = ({ host, port }: ProxyServer): string =>
  `the proxy ${host.includes(":") ? `[${host}]` : host}:${port}`;

function openConnect(
  server: ProxyServer,
  { host, port }: Target,
  secure: ConnectionOptions,
): Promise<net.Socket> {
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    const { ca, cert, key, rejectUnauthorized, minVersion, maxVersion } = secure;
    const asked = (server.protocol === "https:" ? https : http).request({
      method: "CONNECT",
      host: server.host,
      port: server.port,
      path: authority,
      headers: { host: authority, ...server.connectHeaders, ...proxyAuthorization(server) },
      agent: false,
      timeout: connectTimeoutMs,
      ...(server.protocol === "https:"
        ? { ca, cert, key, rejectUnauthorized, minVersion, maxVersion }
        : {}),
    });
    asked.on("timeout", () => asked.destroy(new Error(`${shownServer(server)} does not respond`)));
    asked.on("error", (thrown) => reject(new Error(`${shownServer(server)}: ${thrown.message}`)));
    asked.on("connect", (response, socket: net.Socket) => {
      if (response.statusCode === 200) {
        socket.setTimeout(0);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new Error(`${shownServer(server)} answered CONNECT with ${response.statusCode ?? 0}`));
    });
    asked.end();
  });
}

/**
 * Greeting `05 n methods…` → `05 method`; with a password `01 n user n password` → `01 00`; then
 * `05 01 00 03 n host port` → `05 status 00 type address port`.
 */
async function openSocks(server: ProxyServer, { host, port }: Target): Promise<net.Socket> {
  const socket = net.connect({ host: server.host, port: server.port });
  socket.setTimeout(connectTimeoutMs, () =>
    socket.destroy(new Error(`${shownServer(server)} does not respond`)),
  );
  try {
    const hasLogin = server.username !== "" || server.password !== "";
    socket.write(Buffer.from(hasLogin ? [5, 2, 0, 2] : [5, 1, 0]));
    const [version, method] = await readBytes(socket, 2);
    if (version !== 5 || (method !== 0 && method !== 2))
      throw new Error("it accepts no login that is configured");
    if (method === 2) {
      const [user, password] = [Buffer.from(server.username), Buffer.from(server.password)];
      socket.write(
        Buffer.concat([
          Buffer.from([1, user.length]),
          user,
          Buffer.from([password.length]),
          password,
        ]),
      );
      const [, refused] = await readBytes(socket, 2);
      if (refused !== 0) throw new Error("it refused the user name or the password");
    }
    const name = Buffer.from(host);
    const portBytes = Buffer.from([port >> 8, port & 0xff]);
    socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), name, portBytes]));
    const [, status, , type] = await readBytes(socket, 4);
    if (status !== 0) throw new Error(`it did not connect to the target (SOCKS status ${status})`);
    const addressBytes = type === 1 ? 4 : type === 4 ? 16 : ((await readBytes(socket, 1))[0] ?? 0);
    await readBytes(socket, addressBytes + 2);
    socket.setTimeout(0);
    return socket;
  } catch (thrown) {
    socket.destroy();
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`${shownServer(server)}: ${why}`, { cause: thrown });
  }
}

function readBytes(socket: net.Socket, count: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      socket.off("readable", attempt).off("error", failed).off("end", ended);
      finish();
    };
    const failed = (thrown: Error): void => settle(() => reject(thrown));
    const ended = (): void => settle(() => reject(new Error("it closed the connection")));
    const attempt = (): void => {
      const bytes = socket.read(count) as Buffer | null;
      if (bytes !== null) settle(() => resolve(bytes));
    };
    socket.on("readable", attempt).on("error", failed).on("end", ended);
    attempt();
  });
}
