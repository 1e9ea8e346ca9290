/**
 * The listener of our HTTP servers: plain or TLS, with the users and headers of a web configuration file, reloaded
 * when a file changes. An invalid file is logged and the previous one stays; TLS never falls back to plain HTTP.
 */
import { statSync } from "node:fs";
import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import type { Server as SecureServer } from "node:https";
import { formatError, systemCode } from "../../base/error.ts";
import { LogThrottle } from "../../base/log-throttle.ts";
import type { Log } from "../../base/log.ts";
import { BasicUsers } from "./basic-users.ts";
import { guardClients, type LoadedTls, loadServerTls, type ServerTls } from "./server-tls.ts";
import { readWebConfig, type WebConfig } from "./web-config.ts";

export interface WebListenOptions {
  readonly configFile?: string;
  /** From flags or gpulse.yaml; a web configuration file has its own TLS settings. */
  readonly tls?: ServerTls;
}

const checkEveryMs = 1_000;

export class WebListener {
  readonly #settings: WebListenOptions;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #log: Log;
  #config: WebConfig;
  #users: BasicUsers;
  #loaded: LoadedTls | undefined;
  #server: SecureServer | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** File signatures: as loaded, and as last seen. */
  #loadedSignature = "";
  #seen = "";

  private constructor(
    settings: WebListenOptions,
    env: Readonly<Record<string, string | undefined>>,
    log: Log,
    config: WebConfig,
  ) {
    this.#settings = settings;
    this.#env = env;
    this.#log = log;
    this.#config = config;
    this.#users = new BasicUsers(config.users);
    this.#loaded = config.tls === undefined ? undefined : loadServerTls(config.tls);
    this.#loadedSignature = this.#seen = this.#signature();
  }

  /** Throws if a file is invalid: no server starts without its access control. */
  static async open(
    settings: WebListenOptions,
    env: Readonly<Record<string, string | undefined>>,
    log: Log,
  ): Promise<WebListener> {
    return new WebListener(settings, env, log, await configOf(settings, env));
  }

  get secure(): boolean {
    return this.#loaded !== undefined;
  }

  /** Expiry of the certificate being served; undefined without TLS. */
  get certificateExpiresMs(): number | undefined {
    return this.#loaded?.expiresMs;
  }

  get users(): BasicUsers {
    return this.#users;
  }

  /** Headers added to every response. */
  get headers(): Readonly<Record<string, string>> {
    return this.#config.headers;
  }

  createServer(options: ServerOptions, handler: RequestListener): Server {
    const files = [this.#settings.configFile, this.#loaded];
    if (files.some((file) => file !== undefined)) this.#watch();
    if (this.#loaded === undefined) return createServer(options, handler);
    const { context, requestCert, rejectUnauthorized } = this.#loaded;
    // Loaded on demand: TLS takes 5 ms of every start, and most servers have none.
    const server = process
      .getBuiltinModule("node:https")
      .createServer({ ...options, ...context, requestCert, rejectUnauthorized }, handler);
    const lines = new LogThrottle();
    const refused = (address: string | undefined, problem: string): void => {
      const line = lines.take(address ?? "missing", Date.now());
      if (line !== undefined)
        this.#log.warn("TLS connection refused", { address, error: problem, ...line });
    };
    guardClients(server, () => this.#config.tls, refused);
    server.on("tlsClientError", (problem, socket) => {
      // An untrusted certificate ends the connection with the same code as a client that disconnects.
      const untrusted = socket.authorizationError as unknown;
      if (typeof untrusted === "string") refused(socket.remoteAddress, untrusted);
      else if (systemCode(problem) !== "ECONNRESET")
        refused(socket.remoteAddress, systemCode(problem) ?? problem.message);
    });
    this.#server = server;
    return server;
  }

  /** Reads every file now; false if one is invalid and the previous ones stay. */
  async reload(): Promise<boolean> {
    const signature = this.#signature();
    try {
      const config = await configOf(this.#settings, this.#env);
      const loaded = config.tls === undefined ? undefined : loadServerTls(config.tls);
      this.#refuseWhatNeedsARestart(loaded);
      if (loaded !== undefined) this.#server?.setSecureContext(loaded.context);
      this.#users = new BasicUsers(config.users, this.#users);
      this.#config = config;
      this.#loaded = loaded;
    } catch (thrown) {
      this.#log.error("TLS or user files invalid, keeping the previous ones", {
        error: formatError(thrown),
      });
      return false;
    } finally {
      this.#loadedSignature = this.#seen = signature;
    }
    const ms = this.certificateExpiresMs;
    const expires = ms === undefined ? undefined : new Date(ms).toISOString();
    this.#log.info("TLS and user files reloaded", { expires });
    return true;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #refuseWhatNeedsARestart(next: LoadedTls | undefined): void {
    if ((next === undefined) !== (this.#loaded === undefined))
      throw new Error("turning TLS on or off needs a restart");
    if (
      next?.requestCert !== this.#loaded?.requestCert ||
      next?.rejectUnauthorized !== this.#loaded?.rejectUnauthorized
    )
      throw new Error("another client_auth_type needs a restart");
  }

  /** Polls once a second: files are replaced by rename or symlink, which file watches miss on some systems. */
  #watch(): void {
    this.#timer = setInterval(() => {
      const now = this.#signature();
      const settled = now === this.#seen;
      this.#seen = now;
      // A certificate and its key are two files: loaded once neither has changed for a second.
      if (settled && now !== this.#loadedSignature) void this.reload();
    }, checkEveryMs);
    this.#timer.unref();
  }

  #signature(): string {
    const { tls } = this.#config;
    const files = [this.#settings.configFile, tls?.certFile, tls?.keyFile, tls?.clientCaFile];
    return files.map((file) => (file === undefined ? "" : stampOf(file))).join(" ");
  }
}

async function configOf(
  { configFile, tls }: WebListenOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<WebConfig> {
  const config: WebConfig =
    configFile === undefined
      ? { headers: {}, users: new Map() }
      : await readWebConfig(configFile, env);
  return tls === undefined ? config : { ...config, tls };
}

function stampOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${ino}/${size}/${mtimeMs}/${ctimeMs}`;
  } catch {
    return "missing";
  }
}
