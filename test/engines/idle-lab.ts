// A built gpulse with one simulated GPU that is idle for a while and one that is busy, and the idle rule with a short
// duration.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

export interface IdleLab {
  readonly dir: string;
  readonly url: string;
  readonly port: number;
  file(name: string, text: string): string;
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  get<Answer>(path: string): Promise<Answer>;
  close(): Promise<void>;
}

/** GPU 0 is idle until a training job takes it; GPU 1 trains from the start. */
const scenario = (takenAfter: string): string => `
ambient: 25
fleet: [{ model: H200, count: 2 }]
workloads:
  - { gpus: 1, run: training }
  - { gpus: 0, run: training, after: ${takenAfter} }
`;

export async function openIdleLab(takenAfter: string): Promise<IdleLab> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-idle-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const file = (name: string, text: string): string => {
    writeFileSync(path.join(dir, name), text);
    return path.join(dir, name);
  };
  file("lab.yaml", scenario(takenAfter));
  file("rules.yml", shortIdleRule());
  let running: RunningProcess | undefined;
  return {
    dir,
    url,
    port,
    file,
    start: async (args, env = {}) => {
      running = startProcess(
        process.execPath,
        [
          hubProgram,
          "up",
          "--no-open",
          "--host=127.0.0.1",
          `--port=${port}`,
          `--data=${path.join(dir, "data")}`,
          "--host-name=lab",
          `--source=sim:2?scenario=${path.join(dir, "lab.yaml")}`,
          `--rules=${path.join(dir, "rules.yml")}`,
          ...args,
        ],
        { name: "gpulse up", cwd: dir, env },
      );
      await running.waitForUrl(`${url}/-/healthy`, 60_000);
    },
    kill: async () => {
      if (running === undefined) return;
      process.kill(running.pid, "SIGKILL");
      await running.waitForExit();
    },
    get: async <Answer>(where: string) => (await (await fetch(`${url}${where}`)).json()) as Answer,
    close: async () => {
      await running?.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The shipped rule, with seconds instead of minutes. */
function shortIdleRule(): string {
  const shipped = readFileSync(path.join(repository, "deploy/prometheus/rules/use.yml"), "utf8");
  const [, rule] = /^( +- alert: GpuIdle\n(?: {8}.*\n)+)/m.exec(shipped) ?? [];
  if (rule === undefined || !rule.includes("for: 5m")) throw new Error("use.yml has no GpuIdle");
  const short = rule.replace("for: 5m", "for: 5s");
  return `groups:\n  - name: mine\n    interval: 1s\n    rules:\n${short}`;
}

export interface ListedAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: string;
  readonly activeAt: string;
}

export const idleAlerts = async (lab: IdleLab): Promise<readonly ListedAlert[]> => {
  const { data } = await lab.get<{ data: { alerts: ListedAlert[] } }>("/api/v1/alerts");
  return data.alerts.filter(({ labels }) => labels["alertname"] === "GpuIdle");
};

/** Returns the alert when it first appears, in any state. */
export const firstIdle = (lab: IdleLab): Promise<ListedAlert> =>
  waitUntil({ what: "the idle GPU to be seen", timeoutMs: 20_000 }, async () => {
    const [alert] = await idleAlerts(lab);
    return alert;
  });
