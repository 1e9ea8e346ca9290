// Starts the demo application for tests and the native stack: Redis, PostgreSQL, nginx and its four programs on loopback ports,
// each of which can be killed and restarted.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { repository } from "./program.ts";
import {
  type NginxPlace,
  type RunningServer,
  startNginx,
  startPostgres,
  startRedis,
} from "./servers.ts";

const APP_PROGRAMS = ["gateway", "worker", "ml", "load"] as const;
export type AppProgram = (typeof APP_PROGRAMS)[number];
type Env = Readonly<Record<string, string>>;

/** The command of a program: TypeScript run directly, in one process whose id is the program's. */
export function appCommand(program: AppProgram): readonly [command: string, ...args: string[]] {
  const main = path.join(repository, "deploy", "demo-app", program, "main.ts");
  return [process.execPath, "--import", import.meta.resolve("tsx"), main];
}

export interface RunningAppProgram {
  readonly url: string;
  readonly port: number;
  readonly process: RunningProcess;
  /** SIGKILL, like a crash. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one program and waits until it is alive; `ready` waits until its dependencies respond too. */
async function startAppProgram(
  program: AppProgram,
  env: Env = {},
  options: { readonly port?: number; readonly wait?: "alive" | "ready" } = {},
): Promise<RunningAppProgram> {
  const port = options.port ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const [command, ...args] = appCommand(program);
  const running = startProcess(command, args, { name: program, env: { PORT: `${port}`, ...env } });
  const stop = async (): Promise<void> => void (await running.stop(15_000));
  try {
    const server = options.wait === "alive" ? "healthz" : "readyz";
    await running.waitForUrl(`${url}/${server}`, 60_000);
  } catch (error) {
    await stop();
    throw error;
  }
  const kill = async (): Promise<void> => {
    if (running.exited() !== undefined) return;
    process.kill(running.pid, "SIGKILL");
    await running.waitForExit();
  };
  return { url, port, process: running, kill, stop };
}

export interface NginxNames {
  readonly folder: string;
  /** host:port, in the form of nginx's `listen`. */
  readonly listen: string;
  /** host:port of the gateway. */
  readonly gateway: string;
  /** A file; by default beside nginx's other files. */
  readonly accessLog?: string;
}

/** Returns deploy/demo-app/nginx/nginx.conf with its variables substituted, as envsubst does in the container. */
async function appNginxConfiguration(names: NginxNames): Promise<string> {
  const file = fileURLToPath(new URL("../deploy/demo-app/nginx/nginx.conf", import.meta.url));
  const values: Env = {
    NGINX_FOLDER: names.folder,
    NGINX_LISTEN: names.listen,
    GATEWAY_ADDRESS: names.gateway,
    NGINX_ACCESS_LOG: names.accessLog ?? path.join(names.folder, "access.log"),
  };
  const text = await readFile(file, "utf8");
  return text.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

export interface AppOptions {
  /** The paths of Redis and nginx from `findTool`. */
  readonly tools: { readonly redis: string; readonly nginx: string };
  /** The destination of traces: the URL of an OTLP/HTTP receiver without its path. */
  readonly tracesUrl?: string;
  readonly env?: Partial<Readonly<Record<AppProgram, Env>>>;
}

export interface RunningApp {
  /** The URL of nginx, which clients use. */
  readonly url: string;
  readonly redis: RunningServer;
  readonly postgres: RunningServer;
  readonly nginx: RunningServer;
  readonly ml: RunningAppProgram;
  readonly gateway: RunningAppProgram;
  readonly worker: RunningAppProgram;
  /** Starts another instance of a program with the same settings; `stop` also stops it. */
  start(program: AppProgram, env?: Env): Promise<RunningAppProgram>;
  stop(): Promise<void>;
}

/** Starts everything except the load generator, which `start("load")` starts. */
export async function startApp(options: AppOptions): Promise<RunningApp> {
  const stops: { readonly turn: 0 | 1; stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    // Programs before servers, so that their dependencies are available while they shut down.
    const all = stops.splice(0);
    for (const turn of [0, 1])
      await Promise.all(all.filter((one) => one.turn === turn).map((one) => one.stop()));
  };
  const starting: Promise<unknown>[] = [];
  const kept = async <T extends { stop(): Promise<void> }>(begun: Promise<T>): Promise<T> => {
    starting.push(begun);
    const started = await begun;
    stops.push({ turn: "folder" in started ? 1 : 0, stop: () => started.stop() });
    return started;
  };
  try {
    // Chooses the ports first, so that all can start at once: each waits for its dependencies.
    const ports = new Set<number>();
    while (ports.size < 5) ports.add(await freePort());
    const [redisPort = 0, postgresPort = 0, mlPort = 0, gatewayPort = 0, nginxPort = 0] = ports;
    const url = `http://127.0.0.1:${nginxPort}`;
    const shared: Env = {
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      DATABASE_URL: `postgresql://postgres@127.0.0.1:${postgresPort}/postgres`,
      ML_URL: `http://127.0.0.1:${mlPort}`,
      TARGET_URL: url,
      ...(options.tracesUrl === undefined
        ? {}
        : { OTEL_EXPORTER_OTLP_ENDPOINT: options.tracesUrl }),
    };
    const begin = (program: AppProgram, env: Env = {}, port?: number) => {
      const all = { ...shared, ...options.env?.[program], ...env };
      return kept(startAppProgram(program, all, port === undefined ? {} : { port }));
    };
    const configuration = await appNginxConfiguration({
      folder: "FOLDER",
      listen: `127.0.0.1:${nginxPort}`,
      gateway: `127.0.0.1:${gatewayPort}`,
    });
    const at = ({ folder }: NginxPlace): string => configuration.replaceAll("FOLDER", folder);
    const [redis, postgres, nginx, ml, gateway, worker] = await Promise.all([
      kept(startRedis(options.tools.redis, { port: redisPort })),
      kept(startPostgres({ port: postgresPort })),
      kept(startNginx(options.tools.nginx, at, { port: nginxPort })),
      begin("ml", {}, mlPort),
      begin("gateway", {}, gatewayPort),
      begin("worker"),
    ]);
    const start = (program: AppProgram, env: Env = {}) => begin(program, env);
    return { url, redis, postgres, nginx, ml, gateway, worker, start, stop };
  } catch (error) {
    // One failed while others were still starting: they are stopped too.
    await Promise.allSettled(starting);
    await stop();
    throw error;
  }
}
