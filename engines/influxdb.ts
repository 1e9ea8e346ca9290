// A real InfluxDB 1.x on a free loopback port with its data in a temporary folder. It has no v2 API: VictoriaMetrics is used for
// that.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { requiredTool } from "./cache.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

export interface InfluxDbSeries {
  readonly name: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly columns: readonly string[];
  readonly values: readonly (readonly (string | number | boolean | null)[])[];
}

export interface RunningInfluxDb {
  readonly url: string;
  /** Required if started with `auth`; otherwise the same values, which are not checked. */
  readonly user: string;
  readonly password: string;
  readonly dataDir: string;
  readonly pid: number;
  /** Runs InfluxQL, such as `CREATE DATABASE x`, and returns the resulting series with times in milliseconds. */
  query(influxQl: string, database?: string): Promise<readonly InfluxDbSeries[]>;
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

interface Answer {
  readonly error?: string;
  readonly results?: readonly {
    readonly error?: string;
    readonly series?: readonly InfluxDbSeries[];
  }[];
}

export async function startInfluxDb(
  options: { readonly auth?: boolean } = {},
): Promise<RunningInfluxDb> {
  const program = requiredTool("influxdb");
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-influxdb-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [user, password] = ["gpulse", "influx-test"];
  const config = path.join(dataDir, "influxdb.conf");
  await writeFile(
    config,
    `reporting-disabled = true
bind-address = "127.0.0.1:${await freePort()}"
[meta]
dir = "${dataDir}/meta"
[data]
dir = "${dataDir}/data"
wal-dir = "${dataDir}/wal"
query-log-enabled = false
[http]
bind-address = "127.0.0.1:${port}"
auth-enabled = ${options.auth === true}
log-enabled = false
[monitor]
store-enabled = false
`,
  );
  const launch = async (): Promise<RunningProcess> => {
    const server = startProcess(program, ["-config", config], { name: "influxd" });
    try {
      await server.waitForUrl(`${url}/ping`);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  };
  const query: RunningInfluxDb["query"] = async (influxQl, database) => {
    const form = new URLSearchParams({ q: influxQl, epoch: "ms" });
    if (database !== undefined) form.set("db", database);
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
    const headers = { authorization };
    const response = await fetch(`${url}/query`, { method: "POST", body: form, headers });
    const answer = (await response.json()) as Answer;
    const error = answer.error ?? answer.results?.find((result) => result.error)?.error;
    if (error !== undefined) throw new Error(`influxd: ${influxQl}: ${error}`);
    return (answer.results ?? []).flatMap((result) => result.series ?? []);
  };
  let server = await launch();
  const kill = async (): Promise<void> => {
    if (server.exited() !== undefined) return;
    process.kill(server.pid, "SIGKILL");
    await server.waitForExit();
  };
  if (options.auth === true)
    await query(`CREATE USER ${user} WITH PASSWORD '${password}' WITH ALL PRIVILEGES`);
  return {
    url,
    user,
    password,
    dataDir,
    get pid() {
      return server.pid;
    },
    query,
    kill,
    restart: async () => {
      await kill();
      server = await launch();
    },
    stop: async () => {
      await server.stop(10_000);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
