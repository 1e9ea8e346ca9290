// A real Slurm on one machine: munged, MariaDB, slurmdbd, slurmctld and several slurmd with fake GPUs (null devices), all below
// one temporary folder with their own sockets and ports. It needs root, because of slurmd and mknod.

import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import path from "node:path";

import { requiredTool } from "./cache.ts";
import { freePort } from "./ports.ts";
import { type FinishedProcess, type RunningProcess, runProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

export interface SlurmOptions {
  readonly nodes?: number;
  readonly gpusPerNode?: number;
  readonly cpusPerNode?: number;
  /** Additional lines of slurm.conf. */
  readonly configuration?: readonly string[];
  /** True for slurmrestd on a TCP port, with tokens signed by a key of its own. */
  readonly rest?: boolean;
}

export interface RunningSlurm {
  readonly folder: string;
  readonly cluster: string;
  /** The names of the nodes in `scontrol`. */
  readonly nodes: readonly string[];
  /** Environment for clients: the location of slurm.conf. */
  readonly env: Readonly<Record<string, string>>;
  /** The address of slurmrestd, if it was requested. */
  readonly restUrl: string | undefined;
  /** Runs a client such as `squeue` and returns its output; throws if it fails. */
  client(name: string, ...args: readonly string[]): Promise<string>;
  /** Writes the script, submits it and returns the job's id. */
  submit(script: string, ...args: readonly string[]): Promise<string>;
  /** SIGKILL to the node's slurmd and to its jobs' processes, like a power failure. */
  killNode(node: string): Promise<void>;
  startNode(node: string): Promise<void>;
  stopController(): Promise<void>;
  startController(): Promise<void>;
  /** Starts the controller without its saved state: it forgets every job, and job ids begin at 1 again. */
  resetController(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts everything and waits until every node is idle: about 8 s. */
export async function startSlurm(options: SlurmOptions = {}): Promise<RunningSlurm> {
  const { nodes: nodeCount = 4, gpusPerNode = 4, cpusPerNode = 8, rest = false } = options;
  const { configuration = [] } = options;
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-slurm-"));
  const nodes = Array.from({ length: nodeCount }, (_, index) => `n${index + 1}`);
  const socket = path.join(folder, "munge.socket");
  const env = { SLURM_CONF: path.join(folder, "slurm.conf") };
  const tokenKey = rest ? path.join(folder, "jwt.key") : undefined;
  const restUrl = rest ? `http://127.0.0.1:${await freePort()}` : undefined;
  const running = new Map<string, RunningProcess>();
  const start: StartServer = (name, program, args, extra) => {
    const server = startProcess(program, args, { name, env: { ...env, ...extra } });
    running.set(name, server);
    return server;
  };
  const end = async (name: string): Promise<void> => {
    await running.get(name)?.stop(10_000);
    running.delete(name);
  };
  const stop = async (): Promise<void> => {
    for (const name of [...running.keys()].reverse()) await end(name);
    killJobProcesses(folder);
    rmSync(folder, { recursive: true, force: true });
  };

  const client = async (name: string, ...args: readonly string[]): Promise<string> => {
    const done = await runProcess(requiredTool("slurm-client").replace(/sacct$/, name), args, {
      env,
      cwd: folder,
      timeoutMs: 30_000,
    });
    if (done.code !== 0) throw new Error(`${name} ${args.join(" ")}: ${said(done)}`);
    return done.stdout;
  };
  const startNode = async (node: string): Promise<void> => {
    start(node, requiredTool("slurmd"), ["-D", "-f", env.SLURM_CONF, "-N", node], {
      [nodeVariable]: node,
    });
    await waitUntil({ what: `node ${node} to register`, timeoutMs: 30_000 }, async () => {
      const state = await client("sinfo", "-h", "-N", "-n", node, "-o", "%T");
      return /^(idle|mixed|allocated)$/.test(state.trim()) ? true : undefined;
    });
  };
  const startController = async (): Promise<void> => {
    const file = requiredTool("slurmctld");
    const controller = start("slurmctld", file, ["-D", "-f", env.SLURM_CONF]);
    const giveUp = (): string | undefined => (controller.exited() ? "it ended" : undefined);
    await waitUntil({ what: "slurmctld to answer", timeoutMs: 30_000, giveUp }, () =>
      client("scontrol", "ping"),
    );
  };

  try {
    await startAccounting({
      folder,
      socket,
      nodes,
      gpusPerNode,
      cpusPerNode,
      configuration,
      tokenKey,
      start,
    });
    await startController();
    if (restUrl !== undefined) await startRest(restUrl, start);
    await Promise.all(nodes.map(startNode));
  } catch (error) {
    const printed = [...running].map(
      ([name, server]) => `${name}:\n${server.output().slice(-2_000)}`,
    );
    await stop();
    throw new Error(`Slurm did not start\n${printed.join("\n")}`, { cause: error });
  }
  return {
    folder,
    cluster: "lab",
    nodes,
    env,
    restUrl,
    client,
    startNode,
    startController,
    resetController: async () => {
      // `slurmctld -c` would keep the number of the next job.
      rmSync(path.join(folder, "state"), { recursive: true, force: true });
      mkdirSync(path.join(folder, "state"));
      await startController();
    },
    stopController: () => end("slurmctld"),
    submit: async (script, ...args) => {
      const file = path.join(folder, `job-${randomBytes(4).toString("hex")}.sh`);
      writeFileSync(file, `#!/bin/bash\n${script}\n`);
      const printed = await client("sbatch", "--parsable", "-o", "job-%j.out", ...args, file);
      return printed.trim().split(";")[0] ?? "";
    },
    killNode: async (node) => {
      const slurmd = running.get(node);
      if (slurmd === undefined) return;
      running.delete(node);
      process.kill(slurmd.pid, "SIGKILL");
      await slurmd.waitForExit();
      killJobProcesses(folder, node);
    },
    stop,
  };
}

/** Marks the processes started by a slurmd. */
const nodeVariable = "GPULSE_TEST_SLURMD";

type StartServer = (
  name: string,
  program: string,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
) => RunningProcess;

interface ConfigurationOptions {
  readonly folder: string;
  readonly socket: string;
  readonly nodes: readonly string[];
  readonly gpusPerNode: number;
  readonly cpusPerNode: number;
  readonly configuration: readonly string[];
  /** Signs JSON Web Tokens; undefined if they are not accepted. */
  readonly tokenKey: string | undefined;
  readonly start: StartServer;
}

/** Writes the files and starts the controller's dependencies: munged, MariaDB and slurmdbd. */
async function startAccounting(options: ConfigurationOptions): Promise<void> {
  const { folder, socket, start } = options;
  const at = (name: string): string => path.join(folder, name);
  writeFileSync(at("munge.key"), randomBytes(128), { mode: 0o400 });
  if (options.tokenKey !== undefined)
    writeFileSync(options.tokenKey, randomBytes(32), { mode: 0o400 });
  start("munged", requiredTool("munge"), [
    "--foreground",
    "--force",
    "--num-threads=10",
    `--socket=${socket}`,
    `--key-file=${at("munge.key")}`,
    `--pid-file=${at("munge.pid")}`,
    `--log-file=${at("munge.log")}`,
    `--seed-file=${at("munge.seed")}`,
  ]);
  const databasePort = await freePort();
  const dbdPort = await freePort();
  writeFileSync(at("slurmdbd.conf"), slurmdbdConf(options, dbdPort, databasePort), { mode: 0o600 });
  await writeSlurmConf(options, dbdPort);
  await createDevices(options);

  mkdirSync(at("mariadb"));
  const database = start("mariadbd", requiredTool("mariadb"), [
    "--no-defaults",
    "--user=root",
    `--datadir=${at("mariadb")}`,
    `--socket=${at("mariadb.socket")}`,
    `--pid-file=${at("mariadb.pid")}`,
    "--bind-address=127.0.0.1",
    `--port=${databasePort}`,
    // A throw-away database: no system tables, no users, no sync to disk.
    "--skip-grant-tables",
    "--skip-name-resolve",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=32M",
    "--innodb-lock-wait-timeout=900",
  ]);
  await database.waitForOutput(/ready for connections/);
  const accounting = start("slurmdbd", requiredTool("slurmdbd"), ["-D"]);
  await accounting.waitForOutput(/slurmdbd version \S+ started/);
}

/** Accepts users of slurmrestd by token. It refuses to run as root, as everything here does, unless the check is disabled. */
async function startRest(url: string, start: StartServer): Promise<void> {
  const args = ["-a", "rest_auth/jwt", new URL(url).host];
  const server = start("slurmrestd", requiredTool("slurmrestd"), args, {
    SLURMRESTD_SECURITY: "disable_user_check",
    // 22.05 refuses every token without it, whatever its value.
    SLURM_JWT: "daemon",
  });
  const giveUp = (): string | undefined => (server.exited() ? "it ended" : undefined);
  await waitUntil({ what: "slurmrestd to listen", timeoutMs: 30_000, giveUp }, async () => {
    const { status } = await fetch(`${url}/slurm/v0.0.38/ping`);
    return status === 401 ? true : undefined;
  });
}

const tokenLines = ({ tokenKey }: ConfigurationOptions): string =>
  tokenKey === undefined ? "" : `AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=${tokenKey}\n`;

const slurmdbdConf = (
  options: ConfigurationOptions,
  port: number,
  databasePort: number,
): string => `AuthType=auth/munge
AuthInfo=socket=${options.socket}
${tokenLines(options)}DbdAddr=127.0.0.1
DbdHost=localhost
DbdPort=${port}
SlurmUser=root
PidFile=${options.folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=${databasePort}
StorageUser=root
StorageLoc=slurm
`;

async function writeSlurmConf(options: ConfigurationOptions, dbdPort: number): Promise<void> {
  const { folder, socket, nodes, gpusPerNode, cpusPerNode } = options;
  const nodeLines = await Promise.all(
    nodes.map(
      async (node) =>
        `NodeName=${node} NodeHostname=${hostname()} NodeAddr=127.0.0.1 Port=${await freePort()} CPUs=${cpusPerNode} RealMemory=1000 Gres=gpu:${gpusPerNode}`,
    ),
  );
  const names = nodes.join(",");
  for (const name of ["state", "spool"]) mkdirSync(path.join(folder, name));
  writeFileSync(
    path.join(folder, "slurm.conf"),
    `ClusterName=lab
SlurmctldHost=${hostname()}(127.0.0.1)
SlurmctldPort=${await freePort()}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=${socket},cred_expire=5
${tokenLines(options)}CredType=cred/munge
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool/%n
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,defer_batch,bf_interval=1
GresTypes=gpu
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=10
KillWait=2
MinJobAge=300
MaxArraySize=200001
MaxJobCount=250000
JobRequeue=1
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePass=${socket}
AccountingStoragePort=${dbdPort}
AccountingStorageTRES=gres/gpu
${[...options.configuration, ...nodeLines].join("\n")}
PartitionName=gpu Nodes=${names} Default=YES MaxTime=60 State=UP
`,
  );
  writeFileSync(
    path.join(folder, "gres.conf"),
    `NodeName=${names} Name=gpu File=${folder}/dev/nvidia[0-${gpusPerNode - 1}]\n`,
  );
}

/** Slurm counts a GPU only if its device file exists; the null device under another name is enough. */
async function createDevices({ folder, gpusPerNode }: ConfigurationOptions): Promise<void> {
  mkdirSync(path.join(folder, "dev"));
  for (let index = 0; index < gpusPerNode; index++) {
    const made = await runProcess("mknod", [`${folder}/dev/nvidia${index}`, "c", "1", "3"]);
    if (made.code !== 0) throw new Error(`mknod: ${said(made)}`);
  }
}

/**
 * Kills by process id what a node's slurmd started: step daemons inherit its variable, and the processes of jobs have Slurm's
 * own. Both outlive a killed slurmd.
 */
function killJobProcesses(folder: string, node?: string): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    let environment: string;
    try {
      environment = readFileSync(`/proc/${pid}/environ`, "latin1");
    } catch {
      continue; // The process has exited.
    }
    const variables = new Map(
      environment.split("\0").map((pair) => {
        const at = pair.indexOf("=");
        return [pair.slice(0, at), pair.slice(at + 1)] as const;
      }),
    );
    if (variables.get("SLURM_CONF") !== path.join(folder, "slurm.conf")) continue;
    const own = variables.get(nodeVariable) ?? variables.get("SLURMD_NODENAME");
    if (own !== undefined && own === (node ?? own)) process.kill(Number(pid), "SIGKILL");
  }
}

const said = ({ code, stdout, stderr }: FinishedProcess): string =>
  `exit code ${code}: ${(stderr + stdout).trim()}`;
