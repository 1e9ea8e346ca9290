/** Controls many simulated hosts in several processes as one fleet: sets their pace and sums their sample counts. */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { waitUntil } from "../engines/wait.ts";
import { Tokens } from "../src/access/tokens.ts";
import { silentLog } from "../src/base/log.ts";
import { noReport, type SenderReport } from "./load-report.ts";

export interface SenderSpec {
  readonly hubUrl: string;
  readonly prefix: string;
  readonly from: number;
  readonly to: number;
  /** One token per host; empty if the hub needs none. */
  readonly tokens: readonly string[];
  readonly spoolDir: string;
  readonly intervalMs: number;
}

export interface FleetOptions {
  readonly hubUrl: string;
  readonly hosts: number;
  readonly processes: number;
  readonly spoolDir: string;
  readonly tokens?: readonly string[];
  readonly prefix?: string;
  /** How often a host sends. */
  readonly intervalMs: number;
}

const sender = fileURLToPath(new URL("./load-sender.ts", import.meta.url));
const tsx = fileURLToPath(import.meta.resolve("tsx"));

/** Creates a token for every host before the hub starts, as for a fleet of machines. */
export function makeTokens(dataDir: string, count: number): string[] {
  mkdirSync(dataDir, { recursive: true });
  const tokens = new Tokens({ dataDir, log: silentLog });
  const made = Array.from({ length: count }, (_, at) =>
    tokens.add({ name: `host-${at}`, scope: "push" }, Date.now(), randomBytes).text.reveal(),
  );
  tokens.close();
  return made;
}

export class LoadFleet {
  readonly #children: readonly ChildProcess[];
  readonly #reports = new Map<ChildProcess, SenderReport>();

  constructor(options: FleetOptions) {
    const per = Math.ceil(options.hosts / options.processes);
    this.#children = Array.from({ length: options.processes }, (_, at) => {
      const [from, to] = [at * per, Math.min(options.hosts, (at + 1) * per)];
      const spec: SenderSpec = {
        ...options,
        prefix: options.prefix ?? "load",
        from,
        to,
        tokens: options.tokens?.slice(from, to) ?? [],
      };
      const child = fork(sender, { execArgv: ["--import", tsx] });
      // Sent over the process's channel: every local user can read a process's arguments, and it contains tokens.
      child.send({ spec });
      child.on("message", (report) => this.#reports.set(child, report as SenderReport));
      return child;
    });
    process.once("exit", () => this.#children.forEach((child) => child.kill("SIGKILL")));
  }

  /** Resolves when every process has reported. */
  async ready(): Promise<void> {
    await waitUntil({ what: "the senders to begin", timeoutMs: 180_000 }, async () =>
      this.#reports.size === this.#children.length ? true : undefined,
    );
  }

  get now(): SenderReport {
    const sum = noReport();
    for (const report of this.#reports.values()) {
      for (const key of ["hosts", "ticks", "written", "sent", "refused", "dropped"] as const)
        sum[key] += report[key];
      sum.waiting += report.waiting;
      sum.retries += report.retries;
      sum.lagSeconds = Math.max(sum.lagSeconds, report.lagSeconds);
      for (const [problem, count] of Object.entries(report.problems))
        sum.problems[problem] = (sum.problems[problem] ?? 0) + count;
    }
    return sum;
  }

  /** 0 stops new ticks; what is spooled is still sent. */
  pace(intervalMs: number): void {
    for (const child of this.#children) child.send({ pace: intervalMs });
  }

  /** Waits until the spools are empty; returns the seconds it took. */
  async settle(timeoutMs = 600_000): Promise<number> {
    const beganMs = performance.now();
    // Reports come twice a second: an earlier one would still show empty spools.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await waitUntil({ what: "spools to be empty", timeoutMs }, async () => {
      const { waiting } = this.now;
      if (waiting > 0)
        throw new Error(`${waiting} frames wait: ${JSON.stringify(this.now.problems)}`);
      return true;
    });
    return (performance.now() - beganMs) / 1_000;
  }

  async stop(): Promise<void> {
    for (const child of this.#children) if (child.connected) child.send({ stop: true });
    await Promise.all(
      this.#children.map(
        (child) =>
          new Promise<void>((resolve) => {
            if (child.exitCode !== null || child.signalCode !== null) return resolve();
            child.once("exit", () => resolve());
            setTimeout(() => child.kill("SIGKILL"), 20_000).unref();
          }),
      ),
    );
  }
}
