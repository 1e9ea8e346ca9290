// The exporters of Redis, PostgreSQL and nginx on loopback ports: real third-party scrape targets. Each can be started beside a
// running server, or together with its own.

import path from "node:path";

import { freePort } from "./ports.ts";
import { type ProcessOptions, type RunningProcess, startProcess } from "./process.ts";
import {
  type RunningServer,
  startNginx,
  startPostgres,
  startRedis,
  statusOnly,
} from "./servers.ts";

export interface RunningExporter {
  /** host:port, as in a scrape configuration. */
  readonly address: string;
  readonly process: RunningProcess;
  /** Stops the exporter, and its server if both were started together. */
  stop(): Promise<void>;
}

/** The paths of both programs from `findTool`. */
export interface Programs {
  readonly server: string;
  readonly exporter: string;
}

interface ExporterCommand {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export function redisExporterCommand(address: string, redisUrl: string): ExporterCommand {
  return { args: [`-web.listen-address=${address}`, `-redis.addr=${redisUrl}`] };
}

export function nginxExporterCommand(address: string, nginxUrl: string): ExporterCommand {
  return { args: [`-web.listen-address=${address}`, `-nginx.scrape-uri=${nginxUrl}/status`] };
}

export function postgresExporterCommand(address: string, postgresUrl: string): ExporterCommand {
  return {
    args: [`--web.listen-address=${address}`],
    env: { DATA_SOURCE_NAME: `${postgresUrl}?sslmode=disable` },
  };
}

export async function startRedisExporter(programs: Programs): Promise<RunningExporter> {
  const redis = await startRedis(programs.server);
  return withServer(programs.exporter, redis, redisExporterCommand);
}

export async function startNginxExporter(programs: Programs): Promise<RunningExporter> {
  const nginx = await startNginx(programs.server, statusOnly);
  return withServer(programs.exporter, nginx, nginxExporterCommand);
}

export async function startPostgresExporter(
  programs: Pick<Programs, "exporter">,
): Promise<RunningExporter> {
  const postgres = await startPostgres();
  return withServer(programs.exporter, postgres, postgresExporterCommand);
}

/** Starts an exporter beside a running server; stopping it leaves the server running. */
async function startExporter(
  file: string,
  command: (address: string) => ExporterCommand,
  options: { readonly port?: number } = {},
): Promise<RunningExporter> {
  const address = `127.0.0.1:${options.port ?? (await freePort())}`;
  const { args, env } = command(address);
  const how: ProcessOptions = { name: path.basename(file), ...(env === undefined ? {} : { env }) };
  const exporter = startProcess(file, args, how);
  const stop = async (): Promise<void> => void (await exporter.stop());
  try {
    await exporter.waitForUrl(`http://${address}/metrics`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, process: exporter, stop };
}

async function withServer(
  file: string,
  server: RunningServer,
  command: (address: string, url: string) => ExporterCommand,
): Promise<RunningExporter> {
  try {
    const exporter = await startExporter(file, (address) => command(address, server.url));
    const stop = async (): Promise<void> => {
      await exporter.stop();
      await server.stop();
    };
    return { ...exporter, stop };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
