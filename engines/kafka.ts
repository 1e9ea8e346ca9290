// A real Kafka 4 broker (KRaft, broker and controller in one process) on free loopback ports with its data in a temporary folder.
// Must never be used by any test but the one that started it.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { makeAuthority, writeCertificate } from "./certificates.ts";
import { mavenJars, requiredTool } from "./cache.ts";
import { freePort } from "./ports.ts";
import { type FinishedProcess, type RunningProcess, runProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

const START_TIMEOUT_MS = 90_000;
const HEAP = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC"];
const SCRAM_MECHANISMS = ["SCRAM-SHA-256", "SCRAM-SHA-512"] as const;
const SASL_MECHANISMS = ["PLAIN", ...SCRAM_MECHANISMS, "OAUTHBEARER"] as const;

export interface KafkaOptions {
  /** Also listens with TLS and SASL, with generated certificates. */
  readonly secure?: boolean;
  /** Additional lines of server.properties, such as `num.partitions`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface KafkaSecurity {
  /** `HOST:PORT` of the TLS listener; a client certificate is requested but optional. */
  readonly ssl: string;
  readonly saslPlaintext: string;
  readonly saslSsl: string;
  readonly caFile: string;
  readonly clientCertificate: { readonly cert: string; readonly key: string };
  /** Valid with PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512; OAUTHBEARER accepts any unsigned token that has not expired. */
  readonly user: string;
  readonly password: string;
}

export interface RunningKafka {
  /** `HOST:PORT` of the listener without TLS or SASL. */
  readonly bootstrap: string;
  readonly security: KafkaSecurity | undefined;
  readonly dataDir: string;
  /** Changes after `restart`. */
  readonly pid: number;
  /** SIGKILL; the data is kept for `restart`. */
  kill(): Promise<void>;
  /** Restarts it on the same data and ports; kills it first if it is running. */
  restart(): Promise<void>;
  /** Runs one of Kafka's command line tools, such as `org.apache.kafka.tools.ConsoleConsumer`. */
  tool(mainClass: string, args: readonly string[], input?: string): Promise<FinishedProcess>;
  stop(): Promise<void>;
}

interface Ports {
  readonly plain: number;
  readonly controller: number;
  readonly ssl: number;
  readonly saslPlaintext: number;
  readonly saslSsl: number;
}

const address = (port: number): string => `127.0.0.1:${port}`;

function securityIn(dir: string, ports: Ports): KafkaSecurity {
  const authority = makeAuthority("gpulse test CA");
  const server = authority.issue({ commonName: "kafka", names: ["127.0.0.1", "localhost"] });
  writeCertificate(dir, "ca", { cert: authority.cert, key: "" });
  writeCertificate(dir, "server", { cert: `${server.key}${server.cert}`, key: server.key });
  return {
    ssl: address(ports.ssl),
    saslPlaintext: address(ports.saslPlaintext),
    saslSsl: address(ports.saslSsl),
    caFile: path.join(dir, "ca.pem"),
    clientCertificate: writeCertificate(dir, "client", authority.issue({ commonName: "client" })),
    user: "gpulse",
    password: randomBytes(12).toString("hex"),
  };
}

function saslLines(listener: string, { user, password }: KafkaSecurity): string[] {
  const name = `listener.name.${listener.toLowerCase()}`;
  const jaas = (mechanism: string, module: string): string =>
    `${name}.${mechanism.toLowerCase()}.sasl.jaas.config=org.apache.kafka.common.security.${module} required`;
  return [
    `${name}.sasl.enabled.mechanisms=${SASL_MECHANISMS.join(",")}`,
    `${jaas("PLAIN", "plain.PlainLoginModule")} user_${user}="${password}";`,
    `${jaas("SCRAM-SHA-256", "scram.ScramLoginModule")};`,
    `${jaas("SCRAM-SHA-512", "scram.ScramLoginModule")};`,
    // Kafka's validator of unsigned tokens, which checks their form, subject and times.
    `${jaas("OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule")} unsecuredLoginStringClaim_sub="broker";`,
  ];
}

function properties(
  dataDir: string,
  ports: Ports,
  security: KafkaSecurity | undefined,
  settings: Readonly<Record<string, string>>,
): string {
  const listeners = [`PLAINTEXT://${address(ports.plain)}`];
  if (security !== undefined) {
    listeners.push(`SSL://${security.ssl}`, `SASL_PLAINTEXT://${security.saslPlaintext}`);
    listeners.push(`SASL_SSL://${security.saslSsl}`);
  }
  return [
    "process.roles=broker,controller",
    "node.id=1",
    `controller.quorum.bootstrap.servers=${address(ports.controller)}`,
    "controller.listener.names=CONTROLLER",
    "inter.broker.listener.name=PLAINTEXT",
    `listeners=${[...listeners, `CONTROLLER://${address(ports.controller)}`].join(",")}`,
    `advertised.listeners=${listeners.join(",")}`,
    `listener.security.protocol.map=${["CONTROLLER:PLAINTEXT", "PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL"].join(",")}`,
    `log.dirs=${path.join(dataDir, "log")}`,
    "offsets.topic.replication.factor=1",
    "offsets.topic.num.partitions=4",
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.min.isr=1",
    "transaction.state.log.num.partitions=4",
    "share.coordinator.state.topic.replication.factor=1",
    "share.coordinator.state.topic.min.isr=1",
    // By default every group waits three seconds for more members before it starts.
    "group.initial.rebalance.delay.ms=0",
    // By default a killed broker waits nine seconds for its own old session before it may rejoin.
    "broker.session.timeout.ms=2000",
    "broker.heartbeat.interval.ms=500",
    "auto.create.topics.enable=false",
    ...(security === undefined
      ? []
      : [
          "ssl.keystore.type=PEM",
          `ssl.keystore.location=${path.join(dataDir, "tls", "server.pem")}`,
          "ssl.truststore.type=PEM",
          `ssl.truststore.location=${security.caFile}`,
          "ssl.client.auth=requested",
          ...saslLines("SASL_PLAINTEXT", security),
          ...saslLines("SASL_SSL", security),
        ]),
    ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
    "",
  ].join("\n");
}

/** True if the port accepts connections. */
export async function kafkaAnswers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });
}

/** The class path of the broker and its tools, for `java -cp`. */
export async function kafkaClassPath(): Promise<string> {
  return path.join(await mavenJars("kafka"), "*");
}

export async function startKafka(options: KafkaOptions = {}): Promise<RunningKafka> {
  const java = requiredTool("java");
  const classPath = await kafkaClassPath();
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-kafka-"));
  const [plain, controller, ssl, saslPlaintext, saslSsl] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const ports = { plain, controller, ssl, saslPlaintext, saslSsl };
  const security =
    options.secure === true ? securityIn(path.join(dataDir, "tls"), ports) : undefined;
  const config = path.join(dataDir, "server.properties");
  await writeFile(config, properties(dataDir, ports, security, options.settings ?? {}));

  const tool: RunningKafka["tool"] = async (mainClass, args, input) =>
    runProcess(java, ["-Xmx512m", "-cp", classPath, mainClass, ...args], {
      timeoutMs: 300_000,
      ...(input === undefined ? {} : { input }),
    });
  const launch = async (): Promise<RunningProcess> => {
    const server = startProcess(java, [...HEAP, "-cp", classPath, "kafka.Kafka", config], {
      name: "kafka",
      cwd: dataDir,
    });
    try {
      await waitUntil(
        {
          what: `kafka to answer on ${address(plain)}`,
          timeoutMs: START_TIMEOUT_MS,
          giveUp: () => (server.exited() === undefined ? undefined : server.output()),
        },
        async () => ((await kafkaAnswers(plain)) ? true : undefined),
      );
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  };
  const kill = async (): Promise<void> => {
    if (server.exited() !== undefined) return;
    process.kill(server.pid, "SIGKILL");
    await server.waitForExit();
  };

  const clusterId = randomBytes(16).toString("base64url").replace(/^-/, "a");
  const scram = security === undefined ? [] : SCRAM_MECHANISMS;
  const formatted = await tool("kafka.tools.StorageTool", [
    "format",
    "--standalone",
    `--cluster-id=${clusterId}`,
    `--config=${config}`,
    ...scram.flatMap((name) => [
      "--add-scram",
      `${name}=[name=${security?.user},password=${security?.password}]`,
    ]),
  ]);
  if (formatted.code !== 0) {
    await rm(dataDir, { recursive: true, force: true });
    throw new Error(`kafka could not format its storage: ${formatted.stdout}${formatted.stderr}`);
  }
  let server = await launch();
  return {
    bootstrap: address(plain),
    security,
    dataDir,
    get pid() {
      return server.pid;
    },
    kill,
    restart: async () => {
      await kill();
      server = await launch();
    },
    tool,
    stop: async () => {
      await server.stop(20_000);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
