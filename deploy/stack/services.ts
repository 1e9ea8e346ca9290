// Everything that the stack runs: one declaration per service. A service that is not installed is reported, not omitted silently.
// Everything listens only on 127.0.0.1.

import { mkdir } from "node:fs/promises";
import path from "node:path";

import {
  nginxExporterCommand,
  postgresExporterCommand,
  redisExporterCommand,
} from "../../engines/exporters.ts";
import { repository } from "../../engines/program.ts";
import { findTool, type ToolName } from "../../engines/tools.ts";
import type { Cadvisor } from "./cadvisor.ts";
import { type MailSettings, paths } from "./files.ts";
import { prepareNginx } from "./nginx.ts";
import { at, type Place, urlAt } from "./place.ts";
import { postgresCommand, preparePostgres } from "./postgres.ts";
import { programFile, type ProgramName } from "./programs.ts";
import type { Declared, Service } from "./service.ts";

const MIB = 1024 * 1024;
type Body = Omit<Service, "name" | "summary" | "command"> & { readonly args: readonly string[] };

export interface ServiceContext {
  readonly mail: MailSettings;
  readonly cadvisor: Cadvisor;
}

export function declareServices(place: Place, around: ServiceContext): readonly Declared[] {
  const { ports, dataDir } = place;
  const files = paths(dataDir);
  const runs = (name: string): boolean => !place.without.includes(name);
  const folder = (name: string): string => path.join(dataDir, name);
  const makeFolder = (name: string) => async (): Promise<void> =>
    void (await mkdir(folder(name), { recursive: true }));

  /** A service from a system package. */
  const system = (name: string, summary: string, tool: ToolName, body: Body): Declared => {
    const found = findTool(tool);
    if ("missing" in found) return { name, summary, skipped: found.missing };
    const { args, ...rest } = body;
    return { name, summary, command: [found.path, ...args], ...rest };
  };
  const node = (name: string, summary: string, file: string, body: Body): Declared => {
    const { args, ...rest } = body;
    return { name, summary, command: [process.execPath, file, ...args], ...rest };
  };
  /** A program of the application or of the stack: it listens at its port and reads its other settings from the environment. */
  const own = (
    name: ProgramName,
    summary: string,
    dependsOn: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Declared =>
    node(name, summary, programFile(dataDir, name), {
      args: [],
      env: { PORT: String(ports[name]), ...env },
      address: urlAt(ports[name]),
      health: { kind: "http", url: `${urlAt(ports[name])}/healthz` },
      dependsOn,
      memoryLimitBytes: 256 * MIB,
    });
  const exporter = (
    name: "redis-exporter" | "postgres-exporter" | "nginx-exporter" | "node",
    summary: string,
    tool: ToolName,
    dependsOn: readonly string[],
    {
      args,
      env = {},
    }: { readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> },
  ): Declared =>
    system(name, summary, tool, {
      args,
      env,
      address: urlAt(ports[name]),
      health: { kind: "http", url: `${urlAt(ports[name])}/metrics` },
      dependsOn,
      memoryLimitBytes: 64 * MIB,
    });

  const redisUrl = `redis://${at(ports.redis)}`;
  const databaseUrl = `postgresql://postgres@${at(ports.postgres)}/postgres`;
  const traced: Readonly<Record<string, string>> = runs("traces")
    ? { OTEL_EXPORTER_OTLP_ENDPOINT: urlAt(ports.traces) }
    : {};
  const tier = { REDIS_URL: redisUrl, DATABASE_URL: databaseUrl, ...traced };

  return [
    own("mailbox", "a mail server that keeps what it gets", [], {
      SMTP_PORT: String(ports.smtp),
      SMTP_USER: around.mail.user,
      EMAIL_PASS: around.mail.password,
      MAIL_CERT_FILE: path.join(files.certificates, "mail.pem"),
      MAIL_KEY_FILE: path.join(files.certificates, "mail.key"),
    }),
    own("traces", "takes OTLP traces and keeps the last", []),
    system("redis", "the job queue and the cache", "redis-server", {
      args: [
        `--port ${ports.redis} --bind 127.0.0.1 --appendonly yes --maxmemory 96mb`.split(" "),
        ["--save", "", "--dir", folder("redis")],
      ].flat(),
      prepare: makeFolder("redis"),
      address: redisUrl,
      health: { kind: "tcp", port: ports.redis },
      dependsOn: [],
      memoryLimitBytes: 128 * MIB,
    }),
    postgres(),
    system("nginx", "in front of the gateway", "nginx", {
      args: ["-c", files.nginx, "-p", folder("nginx"), "-e", "stderr", "-g", "daemon off;"],
      prepare: () => prepareNginx(files.nginx, folder("nginx"), ports),
      address: urlAt(ports.nginx),
      health: { kind: "http", url: `${urlAt(ports.nginx)}/status` },
      dependsOn: [],
      memoryLimitBytes: 64 * MIB,
    }),
    exporter(
      "redis-exporter",
      "Redis as metrics",
      "redis-exporter",
      ["redis"],
      redisExporterCommand(at(ports["redis-exporter"]), redisUrl),
    ),
    exporter(
      "postgres-exporter",
      "PostgreSQL as metrics",
      "postgres-exporter",
      ["postgres"],
      postgresExporterCommand(at(ports["postgres-exporter"]), databaseUrl),
    ),
    exporter(
      "nginx-exporter",
      "nginx as metrics",
      "nginx-exporter",
      ["nginx"],
      nginxExporterCommand(at(ports["nginx-exporter"]), urlAt(ports.nginx)),
    ),
    exporter("node", "the machine as metrics", "node-exporter", [], {
      args: [`--web.listen-address=${at(ports.node)}`],
    }),
    cadvisor(),
    own("ml", "the simulated model server, eight GPUs of it", [], {
      ...traced,
      // A model leaves its GPU's memory after a while without work; only then is the GPU idle.
      ...(place.quick ? { UNLOAD_SECONDS: "5" } : {}),
    }),
    own("gateway", "takes requests, queues them, waits for results", ["redis", "postgres"], {
      ...tier,
      ...(place.quick ? { IDLE_BATCH_SECONDS: "20" } : {}),
    }),
    own("worker", "takes jobs to the model server, keeps results", ["redis", "postgres", "ml"], {
      ...tier,
      ML_URL: urlAt(ports.ml),
    }),
    own("load", "requests as a day brings them", ["nginx", "gateway", "worker"], {
      TARGET_URL: urlAt(ports.nginx),
      DAY_SECONDS: String(place.daySeconds),
    }),
    node("agent", "gpulse agent: eight simulated GPUs that do what ml does", dist("agent"), {
      args: [
        "agent",
        "--host=127.0.0.1",
        `--port=${ports.agent}`,
        "--source=host:",
        `--source=sim:8${runs("ml") ? `?follow=${urlAt(ports.ml)}/load` : ""}`,
      ],
      address: urlAt(ports.agent),
      health: { kind: "http", url: `${urlAt(ports.agent)}/readyz` },
      dependsOn: [],
      memoryLimitBytes: 256 * MIB,
    }),
    system("victoriametrics", "what the hub forwards, kept", "victoria-metrics", {
      args: [
        `-storageDataPath=${folder("victoriametrics")}`,
        `-httpListenAddr=${at(ports.victoriametrics)}`,
        "-retentionPeriod=30d",
        // The hub may send a batch twice after it was killed.
        "-dedup.minScrapeInterval=1ms",
      ],
      address: urlAt(ports.victoriametrics),
      health: { kind: "http", url: `${urlAt(ports.victoriametrics)}/health` },
      dependsOn: [],
      memoryLimitBytes: 512 * MIB,
    }),
    system("alertmanager", "routes alerts to mail and webhook", "alertmanager", {
      args: [
        `--config.file=${files.alertmanager}`,
        `--storage.path=${folder("alertmanager")}`,
        `--web.listen-address=${at(ports.alertmanager)}`,
        "--cluster.listen-address=",
      ],
      // Go reads CAs from there: the mailbox's certificate is verified like that of an external mail server.
      env: { SSL_CERT_FILE: files.mailCa },
      address: urlAt(ports.alertmanager),
      health: { kind: "http", url: `${urlAt(ports.alertmanager)}/-/ready` },
      dependsOn: [],
      memoryLimitBytes: 128 * MIB,
    }),
    system("prometheus", "scrapes everything, evaluates the rules", "prometheus", {
      args: [
        `--config.file=${files.prometheus}`,
        `--storage.tsdb.path=${folder("prometheus")}`,
        `--web.listen-address=${at(ports.prometheus)}`,
        "--storage.tsdb.retention.time=30d",
      ],
      address: urlAt(ports.prometheus),
      health: { kind: "http", url: `${urlAt(ports.prometheus)}/-/ready` },
      dependsOn: [],
      memoryLimitBytes: 1024 * MIB,
    }),
    node("hub", "gpulse hub: the same file, the same targets, the same rules", dist("gpulse"), {
      args: [
        "hub",
        "--host=127.0.0.1",
        `--port=${ports.hub}`,
        `--data=${folder("hub")}`,
        "--retention=30d",
        `--prometheus-config=${files.prometheus}`,
        "--no-default-rules",
        ...(runs("alertmanager") ? [`--alertmanager=${urlAt(ports.alertmanager)}`] : []),
        ...(runs("victoriametrics")
          ? [`--to=remote-write+${urlAt(ports.victoriametrics)}/api/v1/write`]
          : []),
      ],
      address: urlAt(ports.hub),
      health: { kind: "http", url: `${urlAt(ports.hub)}/-/ready` },
      dependsOn: [],
      memoryLimitBytes: 1024 * MIB,
    }),
  ].map((one) =>
    runs(one.name)
      ? one
      : { name: one.name, summary: one.summary, skipped: "left out by --without" },
  );

  function postgres(): Declared {
    const [name, summary] = ["postgres", "results of jobs"];
    const found = findTool("postgresql");
    if ("missing" in found) return { name, summary, skipped: found.missing };
    return {
      name,
      summary,
      command: postgresCommand(folder(name), ports.postgres),
      prepare: () => preparePostgres(folder(name)),
      cwd: dataDir,
      address: databaseUrl,
      health: { kind: "tcp", port: ports.postgres },
      dependsOn: [],
      // SIGTERM waits for clients to disconnect, which an application's connection pool never does by itself.
      stopSignal: "SIGINT",
      memoryLimitBytes: 256 * MIB,
    };
  }

  function cadvisor(): Declared {
    const [name, summary] = ["cadvisor", "the services' groups as containers"];
    if ("missing" in around.cadvisor) return { name, summary, skipped: around.cadvisor.missing };
    return {
      name,
      summary,
      command: [around.cadvisor.path, ...around.cadvisor.args(ports.cadvisor)],
      address: urlAt(ports.cadvisor),
      health: { kind: "http", url: `${urlAt(ports.cadvisor)}/healthz` },
      dependsOn: [],
      memoryLimitBytes: 256 * MIB,
    };
  }
}

const dist = (name: string): string => path.join(repository, "dist", name, "main.js");
