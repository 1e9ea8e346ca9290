/** The built program with a few simulated GPUs and rules that fire at once, for pages that show alerts. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { program } from "../../engines/program.ts";

const rules = `
groups:
  - name: quick
    interval: 1s
    rules:
      - alert: PowerAbove
        expr: gpu_power_watts{gpu="1"} > 1
        labels: { severity: warning }
        annotations: { summary: "GPU {{ $labels.gpu }} draws power" }
      - alert: HostHot
        expr: max by (host) (gpu_up) == 1
        labels: { severity: critical }
        annotations: { summary: "The host is hot" }
      - alert: Child
        expr: gpu_temperature_celsius{sensor="edge",gpu="0"} > 1
        labels: { severity: info }
      - alert: Waits
        expr: gpu_utilization_ratio{gpu="0"} >= 0
        for: 1h
`;
const routing = `
route: { receiver: team, group_by: [alertname], group_wait: 1s, group_interval: 1s, repeat_interval: 1h }
receivers:
  - name: team
    webhook_configs: [{ url: "http://127.0.0.1:1/nobody" }]
inhibit_rules:
  - { source_matchers: [alertname="HostHot"], target_matchers: [alertname="Child"], equal: [host] }
`;

export interface AlertHub {
  readonly url: string;
  readonly dataDir: string;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

export async function startAlertHub(port: number): Promise<AlertHub> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-alert-page-"));
  const [rulesFile, routingFile] = [path.join(folder, "rules.yml"), path.join(folder, "am.yml")];
  await writeFile(rulesFile, rules);
  await writeFile(routingFile, routing);
  const data = path.join(folder, "data");
  const flags = `up --source sim:3 --port ${port} --no-open --host-name gpu-node-1`.split(" ");
  const files = ["--rules", rulesFile, "--alertmanager-config", routingFile, "--data", data];
  const args = [program, ...flags, ...files];
  const up = startProcess(process.execPath, args, { name: "gpulse up with rules" });
  const [, url = ""] = await up.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+\/)/, 120_000);
  await up.waitForUrl(`${url}-/ready`);
  return {
    url,
    dataDir: data,
    process: up,
    stop: async () => {
      await up.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
