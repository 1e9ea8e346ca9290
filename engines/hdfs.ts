// A real HDFS, one NameNode and one DataNode, on free loopback ports with its data in a temporary folder. Permissions are
// enabled: the starting user is the superuser, others have only what the modes allow.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import path from "node:path";

import { mavenJars, requiredTool } from "./cache.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, runProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

const START_TIMEOUT_MS = 90_000;
const SERVER = "org.apache.hadoop.hdfs.server";
// Hadoop's web server generates classes at run time in a way that Java allowed only before 17.
const JAVA_ARGS = ["-Xmx256m", "-XX:+UseSerialGC", "--add-opens=java.base/java.lang=ALL-UNNAMED"];

const LOGGING = `log4j.rootLogger=WARN,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %c{1}: %m%n
`;

export interface RunningHdfs {
  /** `HOST:PORT` of the NameNode's WebHDFS. */
  readonly web: string;
  /** `hdfs://HOST:PORT` for Hadoop's own clients, such as Spark. */
  readonly url: string;
  /** The superuser. */
  readonly user: string;
  readonly dataDir: string;
  /** SIGKILL to both; the data is kept for `restart`. */
  kill(): Promise<void>;
  /** Restarts both on the same data and ports; kills them first if they are running. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

function site(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(
    ([name, value]) => `<property><name>${name}</name><value>${value}</value></property>\n`,
  );
  return `<configuration>\n${lines.join("")}</configuration>\n`;
}

interface NameNodeState {
  readonly beans: readonly { readonly FSState?: string; readonly NumLiveDataNodes?: number }[];
}

/** The folder with the jars of both nodes. */
export async function hdfsJars(): Promise<string> {
  return mavenJars("hadoop");
}

export async function startHdfs(
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningHdfs> {
  const java = requiredTool("java");
  const jars = await hdfsJars();
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-hdfs-"));
  const conf = path.join(dataDir, "conf");
  const address = async (): Promise<string> => `127.0.0.1:${await freePort()}`;
  const web = await address();
  const url = `hdfs://${await address()}`;
  // The servers require folders for their web pages; WebHDFS needs no content in them.
  await mkdir(path.join(conf, "webapps", "hdfs"), { recursive: true });
  await mkdir(path.join(conf, "webapps", "datanode"));
  await writeFile(path.join(conf, "log4j.properties"), LOGGING);
  await writeFile(path.join(conf, "core-site.xml"), site({ "fs.defaultFS": url }));
  await writeFile(
    path.join(conf, "hdfs-site.xml"),
    site({
      "dfs.replication": "1",
      "dfs.namenode.name.dir": `file://${dataDir}/name`,
      "dfs.datanode.data.dir": `file://${dataDir}/data`,
      "dfs.namenode.http-address": web,
      "dfs.datanode.address": await address(),
      "dfs.datanode.ipc.address": await address(),
      "dfs.datanode.http.address": await address(),
      "dfs.datanode.hostname": "127.0.0.1",
      "dfs.namenode.safemode.extension": "0",
      "dfs.namenode.datanode.registration.ip-hostname-check": "false",
      // A restarted NameNode gets its DataNode's block report at once, not after seconds.
      "dfs.heartbeat.interval": "1",
      ...settings,
    }),
  );
  const classPath = `${conf}${path.delimiter}${path.join(jars, "*")}`;
  const launchOne = (mainClass: string, name: string): RunningProcess =>
    startProcess(java, [...JAVA_ARGS, "-cp", classPath, `${SERVER}.${mainClass}`], {
      name,
      cwd: dataDir,
    });
  const launch = async (): Promise<readonly RunningProcess[]> => {
    const nodes = [
      launchOne("namenode.NameNode", "the NameNode"),
      launchOne("datanode.DataNode", "the DataNode"),
    ];
    const giveUp = (): string | undefined =>
      nodes.find((node) => node.exited() !== undefined)?.output();
    try {
      await waitUntil(
        { what: "HDFS to leave its safe mode", timeoutMs: START_TIMEOUT_MS, giveUp },
        async () => {
          const query = "Hadoop:service=NameNode,name=FSNamesystemState";
          const response = await fetch(`http://${web}/jmx?qry=${query}`);
          const state = ((await response.json()) as NameNodeState).beans[0];
          return state?.FSState === "Operational" && state.NumLiveDataNodes === 1
            ? true
            : undefined;
        },
      );
    } catch (error) {
      await Promise.all(nodes.map(async (node) => node.stop()));
      throw error;
    }
    return nodes;
  };

  const format = [...JAVA_ARGS, "-cp", classPath, `${SERVER}.namenode.NameNode`, "-format"];
  const formatted = await runProcess(java, format, { cwd: dataDir });
  if (formatted.code !== 0) {
    await rm(dataDir, { recursive: true, force: true });
    throw new Error(`HDFS could not be formatted: ${formatted.stdout}${formatted.stderr}`);
  }
  let nodes = await launch();
  const kill = async (): Promise<void> => {
    for (const node of nodes) {
      if (node.exited() === undefined) process.kill(node.pid, "SIGKILL");
      await node.waitForExit();
    }
  };
  return {
    web,
    url,
    user: userInfo().username,
    dataDir,
    kill,
    restart: async () => {
      await kill();
      nodes = await launch();
    },
    stop: async () => {
      await Promise.all(nodes.map(async (node) => node.stop(10_000)));
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
