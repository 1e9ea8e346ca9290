/**
 * Accesses Slurm through its commands `squeue` and `sacct`, run as the hub's user. The machine needs Slurm's client package and
 * configuration; nothing is ever changed in Slurm.
 */
import { spawn } from "node:child_process";
import { systemCode } from "../../../base/error.ts";

/** The queries to a controller; each result is the text of Slurm's JSON. */
export interface SlurmClient {
  /** The cluster's name; undefined if Slurm does not report it. */
  cluster(): Promise<string | undefined>;
  /** Every job that the controller lists: pending, running, and recently ended (MinJobAge, 300 s by default). */
  queue(): Promise<string>;
  /** The accounting records of these ids, including every attempt. */
  recordsOf(ids: readonly string[]): Promise<string>;
  /** The accounting records of jobs that ended since then. */
  endedSince(timeMs: number): Promise<string>;
}

/** Slurm did not respond; the message says what to check. */
export class SlurmUnavailableError extends Error {}

export interface SlurmCommandOptions {
  /** Timeout of a command. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const finalStates = "BF,CA,CD,DL,F,NF,OOM,PR,RQ,TO";

export class SlurmCommands implements SlurmClient {
  readonly #options: Required<SlurmCommandOptions>;

  constructor(options: SlurmCommandOptions = {}) {
    this.#options = {
      timeoutMs: 30_000,
      maxBytes: 256 * 2 ** 20,
      env: {},
      ...options,
    };
  }

  async cluster(): Promise<string | undefined> {
    const config = await this.#run("scontrol", ["show", "config"]);
    return /^ClusterName\s*=\s*(\S{1,128})\s*$/m.exec(config)?.[1];
  }

  queue(): Promise<string> {
    return this.#run("squeue", ["--json", "--all", "--states=all"]);
  }

  recordsOf(ids: readonly string[]): Promise<string> {
    return this.#run("sacct", ["--json", "--allusers", "--duplicates", `--jobs=${ids.join(",")}`]);
  }

  endedSince(timeMs: number): Promise<string> {
    // sacct reads local times; `uts` followed by Unix seconds is the only other form that 22.05 supports.
    const since = `--starttime=uts${Math.floor(timeMs / 1_000)}`;
    const args = ["--json", "--allusers", "--duplicates", since, "--endtime=now"];
    return this.#run("sacct", [...args, `--state=${finalStates}`]);
  }

  #run(command: string, args: readonly string[]): Promise<string> {
    const { timeoutMs, maxBytes, env } = this.#options;
    return new Promise((resolve, reject) => {
      const refuse = (reason: string): void =>
        reject(new SlurmUnavailableError(`${command} ${reason}`));
      const child = spawn(command, args, {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, ...env },
        timeout: timeoutMs,
        killSignal: "SIGKILL",
      });
      const parts: Buffer[] = [];
      let bytes = 0;
      let printed = "";
      child.stdout.on("data", (part: Buffer) => {
        bytes += part.length;
        if (bytes > maxBytes) child.kill("SIGKILL");
        else parts.push(part);
      });
      child.stderr.setEncoding("utf8");
      child.stderr.on("data", (part: string) => (printed = (printed + part).slice(-1_000)));
      child.once("error", (error) =>
        refuse(
          systemCode(error) === "ENOENT"
            ? "is not installed: install Slurm's client commands on the hub's machine"
            : `could not be started: ${error.message}`,
        ),
      );
      child.once("close", (code, signal) => {
        if (bytes > maxBytes) refuse(`printed more than ${maxBytes / 2 ** 20} MiB`);
        else if (signal !== null) refuse(`did not answer within ${timeoutMs / 1_000} s`);
        else if (code !== 0) refuse(`failed: ${oneLine(printed) || `exit code ${code}`}`);
        else resolve(Buffer.concat(parts).toString("utf8"));
      });
    });
  }
}

const oneLine = (text: string): string => text.trim().replace(/\s+/g, " ").slice(0, 300);
