// Redis, PostgreSQL and nginx on loopback, each startable and killable on its own: the dependencies of the demo application and
// the targets of exporters. Only stop() removes their data folders, so that a restart finds the data.

import { readdirSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { freePort } from "./ports.ts";
import { type RunningProcess, runProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

export interface RunningServer {
  readonly port: number;
  /** The URL for clients: redis://…, postgresql://…, http://… */
  readonly url: string;
  readonly folder: string;
  /** The current process; changes after a restart. */
  process(): RunningProcess;
  /** SIGKILL, like a crash. Data and port are kept; `start` restarts it. */
  kill(): Promise<void>;
  /** Shuts it down cleanly. Data and port are kept; `start` restarts it. */
  end(): Promise<void>;
  /** Restarts it on the same port with the same data; no effect while it runs. */
  start(): Promise<void>;
  /** Stops it, and removes its data if the folder was created here. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** A free port by default. */
  readonly port?: number;
  /** The data folder; by default a temporary one that `stop` removes. */
  readonly folder?: string;
}

/** @param file the program's path from `findTool("redis-server")` */
export async function startRedis(
  file: string,
  options: ServerOptions & { readonly args?: readonly string[] } = {},
): Promise<RunningServer> {
  return startServer("redis", options, {
    url: (port) => `redis://127.0.0.1:${port}`,
    launch: async (port, folder) => {
      const listen = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder];
      // An append-only file that is written at once, so that queued jobs survive a kill.
      const keep = ["--save", "", "--appendonly", "yes", "--appendfsync", "no"];
      const args = [...listen, ...keep, ...(options.args ?? [])];
      const redis = startProcess(file, args, { name: "redis" });
      await redis.waitForOutput(/Ready to accept connections/i);
      return redis;
    },
  });
}

/**
 * PostgreSQL refuses to run as root: as root it is started as the user of its package. One database, `postgres`, and its owner of
 * the same name, without a password.
 */
export async function startPostgres(options: ServerOptions = {}): Promise<RunningServer> {
  const bin = postgresFolder();
  const under =
    process.getuid?.() === 0
      ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
      : [];
  return startServer("postgres", options, {
    url: (port) => `postgresql://postgres@127.0.0.1:${port}/postgres`,
    prepare: async (folder) => {
      const data = path.join(folder, "data");
      if (readdirSync(folder).includes("data")) return;
      if (under.length > 0) await giveToPostgres(folder);
      const [command, ...before] = [...under, path.join(bin, "initdb")];
      const how = ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"];
      const made = await runProcess(command, [...before, ...how]);
      if (made.code !== 0) throw new Error(`initdb failed: ${made.stderr}`);
    },
    launch: async (port, folder) => {
      const [command, ...before] = [...under, path.join(bin, "postgres")];
      const data = ["-D", path.join(folder, "data")];
      const args = [...data, "-p", `${port}`, "-h", "127.0.0.1", "-k", folder, "-F"];
      // The children of a killed server outlive it by a moment, during which a new one refuses to start.
      return waitUntil({ what: "postgres to start", timeoutMs: 60_000 }, async () => {
        const how = { name: "postgres", cwd: folder };
        const server = startProcess(command, [...before, ...args], how);
        await server.waitForOutput(/ready to accept connections/).catch(async (thrown: unknown) => {
          await server.stop();
          throw thrown;
        });
        return server;
      });
    },
    // SIGTERM waits for clients to disconnect, SIGINT disconnects them: an application's connection pool never disconnects by
    // itself.
    endSignal: "SIGINT",
  });
}

/**
 * @param file the program's path from `findTool("nginx")`
 * @param configuration returns the whole nginx.conf; its argument has the paths for `pid` and for temporary files
 */
export async function startNginx(
  file: string,
  configuration: (at: NginxPlace) => string,
  options: ServerOptions = {},
): Promise<RunningServer> {
  return startServer("nginx", options, {
    url: (port) => `http://127.0.0.1:${port}`,
    launch: async (port, folder) => {
      const conf = path.join(folder, "nginx.conf");
      await writeFile(conf, configuration({ port, folder }));
      // A single process, since the workers of a killed master would survive and hold the port.
      const alone = "daemon off; master_process off;";
      const args = ["-c", conf, "-p", folder, "-e", "stderr", "-g", alone];
      const nginx = startProcess(file, args, { name: "nginx" });
      await nginx.waitForUrl(`http://127.0.0.1:${port}/status`);
      return nginx;
    },
  });
}

export interface NginxPlace {
  readonly port: number;
  readonly folder: string;
}

/** An nginx that serves only /status. */
export function statusOnly({ port, folder }: NginxPlace): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(" ");
  return `pid ${folder}/pid; error_log stderr; events {}
    http { access_log off; ${temporary}
      server { listen 127.0.0.1:${port}; location /status { stub_status; } } }`;
}

interface Recipe {
  url(port: number): string;
  prepare?(folder: string): Promise<void>;
  launch(port: number, folder: string): Promise<RunningProcess>;
  readonly endSignal?: NodeJS.Signals;
}

async function startServer(
  name: string,
  options: ServerOptions,
  recipe: Recipe,
): Promise<RunningServer> {
  const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), `gpulse-${name}-`)));
  await mkdir(folder, { recursive: true });
  const port = options.port ?? (await freePort());
  const removeFolder = async (): Promise<void> => {
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
  };
  let running: RunningProcess;
  try {
    await recipe.prepare?.(folder);
    running = await recipe.launch(port, folder);
  } catch (thrown) {
    await removeFolder();
    throw thrown;
  }
  const end = async (): Promise<void> => {
    if (running.exited() === undefined && recipe.endSignal !== undefined)
      process.kill(running.pid, recipe.endSignal);
    await running.stop();
  };
  return {
    port,
    url: recipe.url(port),
    folder,
    process: () => running,
    end,
    kill: async () => {
      if (running.exited() !== undefined) return;
      process.kill(running.pid, "SIGKILL");
      await running.waitForExit();
    },
    start: async () => {
      if (running.exited() !== undefined) running = await recipe.launch(port, folder);
    },
    stop: async () => {
      await end();
      await removeFolder();
    },
  };
}

/** Debian keeps the server's programs out of PATH, in a folder per version. */
function postgresFolder(): string {
  const root = "/usr/lib/postgresql";
  const versions = readdirSync(root).sort((left, right) => Number(right) - Number(left));
  const [newest] = versions;
  if (newest === undefined) throw new Error(`there is no PostgreSQL below ${root}`);
  return path.join(root, newest, "bin");
}

async function giveToPostgres(folder: string): Promise<void> {
  const { stdout } = await runProcess("id", ["-u", "postgres"]);
  await chown(folder, Number(stdout), -1);
  await chmod(folder, 0o755);
}
