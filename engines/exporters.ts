// Redis, PostgreSQL and nginx on free loopback ports, each with its exporter: real scrape targets of other people's making.
// Their data is in temporary folders that go with them.

import { readdirSync } from "node:fs";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { freePort } from "./ports.ts";
import { runProcess, startProcess } from "./process.ts";
import type { ProcessOptions, RunningProcess } from "./process.ts";

export interface RunningExporter {
  /** host:port, as a scrape configuration names it. */
  readonly address: string;
  readonly process: RunningProcess;
  /** The exporter and what it watches. */
  stop(): Promise<void>;
}

interface Watched {
  readonly port: number;
  stop(): Promise<void>;
}

/** Both programs as `findTool` gives them. */
export interface Programs {
  readonly server: string;
  readonly exporter: string;
}

export async function startRedisExporter({ server, exporter }: Programs): Promise<RunningExporter> {
  const redis = await startServer("redis", async (port, folder) =>
    startProcess(
      server,
      ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--dir", folder],
      {
        name: "redis",
      },
    ),
  );
  return startExporter(exporter, redis, (address, port) => ({
    args: [`-web.listen-address=${address}`, `-redis.addr=redis://127.0.0.1:${port}`],
  }));
}

export async function startNginxExporter({ server, exporter }: Programs): Promise<RunningExporter> {
  const nginx = await startServer("nginx", async (port, folder) => {
    const file = path.join(folder, "nginx.conf");
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
      .join(" ");
    await writeFile(
      file,
      `daemon off; pid ${folder}/pid; error_log stderr; events {}
       http { access_log off; ${temporary}
         server { listen 127.0.0.1:${port}; location /status { stub_status; } } }`,
    );
    return startProcess(server, ["-c", file, "-p", folder, "-e", "stderr"], { name: "nginx" });
  });
  return startExporter(exporter, nginx, (address, port) => ({
    args: [`-web.listen-address=${address}`, `-nginx.scrape-uri=http://127.0.0.1:${port}/status`],
  }));
}

/** PostgreSQL refuses to run as root: there it runs as the user that its package brings. */
export async function startPostgresExporter({ exporter }: Programs): Promise<RunningExporter> {
  const bin = postgresFolder();
  const under =
    process.getuid?.() === 0
      ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
      : [];
  const postgres = await startServer("postgres", async (port, folder) => {
    if (under.length > 0) await giveToPostgres(folder);
    const data = path.join(folder, "data");
    const [command, ...before] = [...under, path.join(bin, "initdb")];
    const how = ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"];
    const made = await runProcess(command, [...before, ...how]);
    if (made.code !== 0) throw new Error(`initdb failed: ${made.stderr}`);
    const [start, ...rest] = [...under, path.join(bin, "postgres")];
    const args = ["-D", data, "-p", `${port}`, "-h", "127.0.0.1", "-k", folder, "-F"];
    const server = startProcess(start, [...rest, ...args], { name: "postgres", cwd: folder });
    await server.waitForOutput(/ready to accept connections/);
    return server;
  });
  return startExporter(exporter, postgres, (address, port) => ({
    args: [`--web.listen-address=${address}`],
    options: {
      env: { DATA_SOURCE_NAME: `postgresql://postgres@127.0.0.1:${port}/postgres?sslmode=disable` },
    },
  }));
}

async function startServer(
  name: string,
  start: (port: number, folder: string) => Promise<RunningProcess>,
): Promise<Watched> {
  const folder = await mkdtemp(path.join(tmpdir(), `gpulse-${name}-`));
  const port = await freePort();
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const server = await start(port, folder).catch(async (thrown: unknown) => {
    await removeFolder();
    throw thrown;
  });
  return {
    port,
    stop: async () => {
      await server.stop();
      await removeFolder();
    },
  };
}

async function startExporter(
  file: string,
  watched: Watched,
  how: (
    address: string,
    port: number,
  ) => { readonly args: readonly string[]; readonly options?: ProcessOptions },
): Promise<RunningExporter> {
  const address = `127.0.0.1:${await freePort()}`;
  const { args, options } = how(address, watched.port);
  const exporter = startProcess(file, args, { name: path.basename(file), ...options });
  const stop = async (): Promise<void> => {
    await exporter.stop();
    await watched.stop();
  };
  try {
    await exporter.waitForUrl(`http://${address}/metrics`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, process: exporter, stop };
}

/** Debian keeps the server's programs out of the path, a folder per version. */
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
