// Real programs on loopback with the data that the dashboards of GPUs, machines, alerts and services query: simulated
// GPUs with every fault, a machine with containers as a folder, pages like vLLM's and cAdvisor's, exporters,
// Alertmanager, and a Prometheus and a hub that scrape all of them.

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { startAlertmanager } from "../../engines/alertmanager.ts";
import {
  startNginxExporter,
  startPostgresExporter,
  startRedisExporter,
} from "../../engines/exporters.ts";
import { startHub } from "../../engines/hub.ts";
import { requiredTool } from "../../engines/cache.ts";
import { startNodeExporter } from "../../engines/node-exporter.ts";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild, repository, startAgent } from "../../engines/program.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { machineTree, writeTree } from "../fixtures/sources/host.ts";
import { serveVllmPage } from "./vllm-page.ts";

export interface GrafanaLab {
  readonly prometheusUrl: string;
  readonly hubUrl: string;
  stop(): Promise<void>;
}

/** Always firing, because other alerts depend on the moment. */
const firing = {
  groups: [
    {
      name: "lab",
      rules: [
        {
          alert: "GpuIsSimulated",
          expr: 'gpu_info{simulated="true"}',
          labels: { severity: "info" },
        },
      ],
    },
  ],
};

/** A page like cAdvisor's for a Docker container; without a container engine cAdvisor reports no filesystems. */
async function startContainerPage(): Promise<{ address: string; stop(): Promise<void> }> {
  const container = 'id="/docker/5f0c",image="nginx:1.27",name="web"';
  const startMs = Date.now();
  const server = createServer((_, response) => {
    const seconds = (Date.now() - startMs) / 1_000;
    const page = [
      `container_cpu_usage_seconds_total{cpu="total",${container}} ${seconds / 10}`,
      `container_memory_working_set_bytes{${container}} 52428800`,
      `container_network_receive_bytes_total{interface="eth0",${container}} ${seconds * 1_000}`,
      `container_network_transmit_bytes_total{interface="eth0",${container}} ${seconds * 9_000}`,
      `container_fs_usage_bytes{device="/dev/sda1",${container}} 1048576`,
      `container_start_time_seconds{${container}} ${Math.floor(startMs / 1_000)}`,
      `container_last_seen{${container}} ${Math.floor(Date.now() / 1_000)}`,
    ];
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(`${page.join("\n")}\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The shipped rules, including those of LLM servers, but evaluated every two seconds. */
function writeRules(folder: string): string {
  const rules = path.join(folder, "rules");
  mkdirSync(rules);
  const shipped = path.join(repository, "deploy/prometheus/rules");
  const defaults = readdirSync(shipped).filter((file) => file.endsWith(".yml"));
  for (const name of [...defaults, "stack/serving.yml"]) {
    const text = readFileSync(path.join(shipped, name), "utf8");
    const copy = path.join(rules, path.basename(name));
    writeFileSync(copy, text.replaceAll(/interval: \w+/g, "interval: 2s"));
  }
  writeFileSync(path.join(rules, "lab.yml"), JSON.stringify(firing));
  return path.join(rules, "*.yml");
}

export async function startGrafanaLab(): Promise<GrafanaLab> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-grafana-"));
  const stops: (() => Promise<void>)[] = [];
  const keep = <T extends { stop(): Promise<void> }>(started: T): T => {
    stops.unshift(() => started.stop());
    return started;
  };
  const stop = async (): Promise<void> => {
    for (const end of stops) await end();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await ensureBuild();
    const machine = path.join(folder, "machine");
    await writeTree(machine, machineTree);
    const both = (server: Parameters<typeof requiredTool>[0], exporter: typeof server) => ({
      server: requiredTool(server),
      exporter: requiredTool(exporter),
    });
    const alertmanager = keep(
      await startAlertmanager(
        requiredTool("alertmanager"),
        JSON.stringify({ route: { receiver: "none" }, receivers: [{ name: "none" }] }),
      ),
    );
    const folders = ["--procfs", path.join(machine, "proc"), "--sysfs", path.join(machine, "sys")];
    const agents = await Promise.all([
      startAgent(["--source", "sim:8?scenario=faults&speed=64", "--source", "host:"]),
      startAgent(
        ["--source", "sim:?scenario=mixed", "--source", "host:", "--host-name", "folder"].concat(
          folders,
        ),
      ),
      // Has a work counter, for performance per watt. The comparison begins with the first host by name.
      startAgent(["--source", "sim:?scenario=stress&speed=64", "--host-name", "bench"]),
    ]);
    agents.forEach(keep);
    const node = keep(await startNodeExporter(requiredTool("node-exporter")));
    const redis = keep(await startRedisExporter(both("redis-server", "redis-exporter")));
    const postgres = keep(await startPostgresExporter(both("postgresql", "postgres-exporter")));
    const nginx = keep(await startNginxExporter(both("nginx", "nginx-exporter")));

    const cadvisor = keep(await startContainerPage());
    const vllm = keep(await serveVllmPage());

    const hubPort = await freePort();
    const rules = writeRules(folder);
    const at = (url: string): string => new URL(url).host;
    const job = (name: string, ...targets: string[]) => ({
      job_name: name,
      static_configs: [{ targets }],
    });
    // Prometheus's own address is only known once it runs.
    const itself = path.join(folder, "prometheus.json");
    writeFileSync(itself, "[]");
    const config = {
      global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "2s" },
      rule_files: [rules],
      alerting: { alertmanagers: [{ static_configs: [{ targets: [at(alertmanager.url)] }] }] },
      scrape_configs: [
        job("gpu", ...agents.map(({ url }) => at(url))),
        job("node", at(node.url)),
        job("redis", redis.address),
        job("postgres", postgres.address),
        job("nginx", nginx.address),
        job("cadvisor", cadvisor.address),
        job("vllm", vllm.address),
        job("alertmanager", at(alertmanager.url)),
        job("hub", `127.0.0.1:${hubPort}`),
        {
          job_name: "prometheus",
          file_sd_configs: [{ files: [itself], refresh_interval: "1s" }],
        },
      ],
    };
    const prometheus = keep(
      await startPrometheus({ path: requiredTool("prometheus"), config, logLevel: "warn" }),
    );
    writeFileSync(itself, JSON.stringify([{ targets: [at(prometheus.url)] }]));
    const file = path.join(folder, "prometheus.yml");
    writeFileSync(file, JSON.stringify(config));
    const hub = keep(
      await startHub({
        dataDir: path.join(folder, "hub"),
        port: hubPort,
        args: [
          `--prometheus-config=${file}`,
          `--rules=${rules}`,
          `--alertmanager=${alertmanager.url}`,
        ],
      }),
    );
    return { prometheusUrl: prometheus.url, hubUrl: hub.url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
