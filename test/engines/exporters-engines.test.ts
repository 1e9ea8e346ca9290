// `--prometheus` with the features of Thanos, Mimir and hosted services: a path, a tenant header, TLS with a private CA
// and a token, in front of a real Prometheus.

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { startNginx } from "../../engines/servers.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { fleetUuids, useExportersLab, valuesByUuid } from "./exporters-lab.ts";

const { closes, openHub } = useExportersLab();
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-engines-"));
let exporter: Server;

beforeAll(async () => {
  const gpus = [0, 1].map(
    (gpu) => `gpu="${gpu}",UUID="GPU-${gpu}",modelName="NVIDIA L40S",Hostname="node-a"`,
  );
  const page = gpus
    .flatMap((labels, gpu) => [
      `DCGM_FI_DEV_POWER_USAGE{${labels}} ${100 + gpu}\n`,
      `DCGM_FI_DEV_GPU_UTIL{${labels}} ${40 + gpu}\n`,
    ])
    .join("");
  exporter = createServer((_, response) => {
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(page);
  }).listen(0, "127.0.0.1");
  await once(exporter, "listening");
});
afterAll(() => {
  exporter.close();
  rmSync(folder, { recursive: true, force: true });
});

async function openPrometheus(file: string): Promise<RunningPrometheus> {
  const target = `127.0.0.1:${(exporter.address() as AddressInfo).port}`;
  const prometheus = await startPrometheus({
    path: file,
    config: {
      global: { scrape_interval: "1s" },
      scrape_configs: [{ job_name: "dcgm", static_configs: [{ targets: [target] }] }],
    },
    receiver: false,
  });
  closes.push(() => prometheus.stop());
  const count = async (): Promise<number> =>
    (await prometheus.query("DCGM_FI_DEV_POWER_USAGE")).length;
  await expect.poll(count, { timeout: 20_000 }).toBe(2);
  return prometheus;
}

const power = { "GPU-0": "100", "GPU-1": "101" };

test("a token, a CA, a path and a tenant in front of Prometheus, and what is wrong without them", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  const nginx = toolOrSkip(context, "nginx");
  const prometheus = await openPrometheus(program);
  const authority = makeAuthority("Prometheus test CA");
  const ca = path.join(folder, "ca.crt");
  writeFileSync(ca, authority.cert);
  const certificate = authority.issue({ commonName: "prometheus", names: ["127.0.0.1"] });
  writeCertificate(folder, "prometheus", certificate);
  const tlsPort = await freePort();
  const token = "s3cret-token";
  const front = await startNginx(
    nginx,
    ({ port, folder: own }) => `pid ${own}/pid; error_log stderr; events {}
    http { access_log off; client_body_temp_path ${own}/body; proxy_temp_path ${own}/proxy;
      server { listen 127.0.0.1:${port}; location /status { stub_status; } }
      server { listen 127.0.0.1:${tlsPort} ssl;
        ssl_certificate ${folder}/prometheus.pem; ssl_certificate_key ${folder}/prometheus.key;
        location /prometheus/ {
          if ($http_authorization != "Bearer ${token}") { return 401 "no token\n"; }
          if ($http_x_scope_orgid != "team-a") { return 403 "no org id\n"; }
          proxy_pass ${prometheus.url}/; }
        location /thanos/ {
          if ($http_thanos_tenant != "team-b") { return 403 "no tenant\n"; }
          proxy_pass ${prometheus.url}/; } } }`,
  );
  closes.push(() => front.stop());
  const url = `https://127.0.0.1:${tlsPort}/prometheus?engine=mimir`;
  const readiness = async (...args: readonly string[]): Promise<() => Promise<string>> => {
    const hub = await openHub(...args);
    return async () => (await fetch(`${hub.url}/-/ready`)).text();
  };
  const trusted = [`--prometheus-ca=${ca}`, `--prometheus-token=${token}`];
  const hub = await openHub(`--prometheus=${url}&tenant=team-a`, ...trusted);
  await expect.poll(() => valuesByUuid(hub, "gpu_power_watts"), { timeout: 60_000 }).toEqual(power);
  const thanos = `https://127.0.0.1:${tlsPort}/thanos?engine=thanos&tenant=team-b`;
  const other = await openHub(`--prometheus=${thanos}`, ...trusted);
  await expect.poll(() => fleetUuids(other), { timeout: 60_000 }).toEqual(Object.keys(power));

  const poll = async (args: readonly string[], problem: RegExp): Promise<void> => {
    await expect.poll(await readiness(...args), { timeout: 30_000 }).toMatch(problem);
  };
  await poll([`--prometheus=${url}&tenant=team-a`, `--prometheus-ca=${ca}`], /401|no token/);
  await poll([`--prometheus=${url}`, ...trusted], /403|no org id/);
  await poll([`--prometheus=${url}&tenant=team-a`, `--prometheus-token=${token}`], /certificate/);
});
