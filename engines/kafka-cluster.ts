// Several real Kafka brokers as one cluster (KRaft, each both broker and controller) on free loopback ports. Every topic has one
// replica per broker, and a write is acknowledged when all but one have it.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { kafkaAnswers, kafkaClassPath } from "./kafka.ts";
import { requiredTool } from "./cache.ts";
import { freePort } from "./ports.ts";
import { type FinishedProcess, type RunningProcess, runProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

/** For three brokers that start on two shared cores. */
const START_TIMEOUT_MS = 180_000;
const HEAP = ["-Xms128m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

export interface KafkaClusterOptions {
  readonly brokers: number;
  /** Additional lines of every server.properties, such as `num.partitions`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface RunningBroker {
  readonly id: number;
  /** `HOST:PORT`. */
  readonly address: string;
  readonly running: boolean;
  /** SIGKILL; the data is kept for `restart`. */
  kill(): Promise<void>;
  restart(): Promise<void>;
}

export interface RunningKafkaCluster {
  /** All brokers, comma-separated. */
  readonly bootstrap: string;
  readonly brokers: readonly RunningBroker[];
  /** Runs one of Kafka's command line tools. */
  tool(mainClass: string, args: readonly string[]): Promise<FinishedProcess>;
  stop(): Promise<void>;
}

interface Place {
  readonly id: number;
  readonly port: number;
  readonly controllerPort: number;
}

const listen = (port: number): string => `127.0.0.1:${port}`;

function properties(
  folder: string,
  { id, port, controllerPort }: Place,
  places: readonly Place[],
  settings: Readonly<Record<string, string>>,
): string {
  const copies = places.length;
  const enough = Math.max(1, copies - 1);
  const voters = places.map((place) => `${place.id}@${listen(place.controllerPort)}`);
  const lines = {
    "process.roles": "broker,controller",
    "node.id": id,
    "controller.quorum.voters": voters.join(","),
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    listeners: `PLAINTEXT://${listen(port)},CONTROLLER://${listen(controllerPort)}`,
    "advertised.listeners": `PLAINTEXT://${listen(port)}`,
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "log.dirs": path.join(folder, `log-${id}`),
    "default.replication.factor": copies,
    "min.insync.replicas": enough,
    "unclean.leader.election.enable": "false",
    "offsets.topic.replication.factor": copies,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": copies,
    "transaction.state.log.min.isr": enough,
    "transaction.state.log.num.partitions": 4,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1_000,
    "auto.create.topics.enable": "false",
    // Short enough to detect a killed broker soon, long enough not to lose the broker of a busy machine.
    "broker.session.timeout.ms": 6_000,
    "broker.heartbeat.interval.ms": 1_000,
    ...settings,
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

export async function startKafkaCluster(
  options: KafkaClusterOptions,
): Promise<RunningKafkaCluster> {
  const java = requiredTool("java");
  const classPath = await kafkaClassPath();
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-kafka-cluster-"));
  const places: Place[] = [];
  for (let id = 1; id <= options.brokers; id++)
    places.push({ id, port: await freePort(), controllerPort: await freePort() });
  const config = ({ id }: Place): string => path.join(folder, `server-${id}.properties`);
  for (const place of places)
    await writeFile(config(place), properties(folder, place, places, options.settings ?? {}));
  const servers = new Map<number, RunningProcess>();
  const stop = async (): Promise<void> => {
    await Promise.all([...servers.values()].map((server) => server.stop(20_000)));
    await rm(folder, { recursive: true, force: true });
  };
  const tool: RunningKafkaCluster["tool"] = (mainClass, args) =>
    runProcess(java, [...HEAP, "-cp", classPath, mainClass, ...args], { timeoutMs: 300_000 });
  const launch = (place: Place): void =>
    void servers.set(
      place.id,
      startProcess(java, [...HEAP, "-cp", classPath, "kafka.Kafka", config(place)], {
        name: `kafka ${place.id}`,
        cwd: folder,
      }),
    );
  const answering = async ({ id, port }: Place): Promise<void> => {
    const server = servers.get(id);
    await waitUntil(
      {
        what: `kafka ${id} to answer on ${listen(port)}`,
        timeoutMs: START_TIMEOUT_MS,
        giveUp: () => (server?.exited() === undefined ? undefined : server.output()),
      },
      async () => ((await kafkaAnswers(port)) ? true : undefined),
    );
  };
  try {
    const clusterId = randomBytes(16).toString("base64url").replace(/^-/, "a");
    const formatted = await Promise.all(
      places.map((place) =>
        tool("kafka.tools.StorageTool", [
          "format",
          `--cluster-id=${clusterId}`,
          `--config=${config(place)}`,
        ]),
      ),
    );
    const failed = formatted.find(({ code }) => code !== 0);
    if (failed !== undefined)
      throw new Error(`kafka could not format its storage: ${failed.stdout}${failed.stderr}`);
    places.forEach(launch);
    await Promise.all(places.map(answering));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    bootstrap: places.map(({ port }) => listen(port)).join(","),
    brokers: places.map((place) => brokerAt(place, servers, launch, answering)),
    tool,
    stop,
  };
}

function brokerAt(
  place: Place,
  servers: ReadonlyMap<number, RunningProcess>,
  launch: (place: Place) => void,
  answering: (place: Place) => Promise<void>,
): RunningBroker {
  const kill = async (): Promise<void> => {
    const server = servers.get(place.id);
    if (server === undefined || server.exited() !== undefined) return;
    process.kill(server.pid, "SIGKILL");
    await server.waitForExit();
  };
  return {
    id: place.id,
    address: listen(place.port),
    get running() {
      return servers.get(place.id)?.exited() === undefined;
    },
    kill,
    restart: async () => {
      await kill();
      launch(place);
      await answering(place);
    },
  };
}
