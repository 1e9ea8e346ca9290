// Third-party exporters, and our agent under their metric names, as GPUs of a hub that scrapes them.

import { beforeAll, expect, test } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { startNvitopExporter } from "../../engines/nvitop-exporter.ts";
import { ensureBuild, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { type CompatName, compatNames } from "../../src/formats/compat/tables.ts";
import { buildStub } from "../nvml-stub/stub.ts";
import { fleetUuids, useExportersLab, valuesByUuid } from "./exporters-lab.ts";

const { closes, openHub, openScraper } = useExportersLab();

beforeAll(ensureBuild);

test("the GPUs of a real nvitop-exporter are shown and stored under gpulse's names", async (context) => {
  toolOrSkip(context, "gcc");
  const stub = await buildStub();
  closes.push(async () => stub.remove());
  stub.script("gpus 2", "1.power 321000", "1.temperature 71", "1.fans 1", "1.fan_speed 35");
  const exporter = await orSkip(context, startNvitopExporter(stub.library, "bench-1"));
  closes.push(() => exporter.stop());
  const hub = await openScraper({
    global: { scrape_interval: "1s" },
    scrape_configs: [{ job_name: "nvitop", static_configs: [{ targets: [exporter.address] }] }],
  });
  const [first, second] = [0, 1].map((index) => `GPU-0000000${index}-0000-4000-8000-000000000000`);
  const expectValues = async (query: string, ...values: readonly string[]): Promise<void> => {
    const uuids = [first, second].slice(-values.length);
    await expect
      .poll(() => valuesByUuid(hub, query), { timeout: 20_000 })
      .toEqual(Object.fromEntries(uuids.map((uuid, at) => [uuid, values[at]])));
  };
  await expectValues('gpu_power_watts{job="nvitop",host="bench-1"}', "250", "321");
  await expectValues('gpu_temperature_celsius{sensor="edge"}', "55", "71");
  await expectValues("gpu_utilization_ratio", "0.42", "0.42");
  await expectValues("gpu_memory_total_bytes / 2^30", "80", "80");
  await expectValues('gpu_clock_hertz{domain="memory"} / 1e6', "2619", "2619");
  // The first GPU has no fan: NaN in the exporter, absent in the hub.
  await expectValues("gpu_fan_speed_ratio", "0.35");
  await expectValues('gpu_info{vendor="nvidia",model="NVIDIA Stub 80GB"}', "1", "1");
  expect(await fleetUuids(hub)).toEqual([first, second]);
});

/** Metric names that only this table writes. */
const namesOf: Readonly<Record<CompatName, string>> = {
  dcgm: "DCGM_.+",
  "dcgm-old": "dcgm_.+",
  amd: "gpu_(power_usage|gfx_activity|used_vram|total_vram|clock|edge_temperature|junction_temperature|package_power|average_package_power)",
  "nvidia-smi": "nvidia_smi_.+",
};

test.each(compatNames)(
  "our agent's page with only the names of --compat %s gives the GPUs and power of its own names",
  async (compat) => {
    const model = compat === "amd" ? "MI300X" : "H200";
    const source = `sim:2?seed=3&model=${model}`;
    const agent = await startAgent(["--source", source, "--host-name", "n1", "--compat", compat]);
    closes.push(() => agent.stop());
    const target = new URL(agent.url).host;
    const job = (job_name: string, metric_relabel_configs: readonly unknown[] = []) => ({
      job_name,
      static_configs: [{ targets: [target] }],
      metric_relabel_configs,
    });
    const keep = { source_labels: ["__name__"], regex: namesOf[compat], action: "keep" };
    const scrape = (jobs: readonly unknown[]) =>
      openScraper({ global: { scrape_interval: "1s" }, scrape_configs: jobs });
    const [translated, own] = await Promise.all([
      scrape([job("theirs", [keep])]),
      scrape([job("own")]),
    ]);
    await expect.poll(() => fleetUuids(own), { timeout: 20_000 }).toHaveLength(2);
    const lower = (uuids: readonly string[]) => uuids.map((uuid) => uuid.toLowerCase());
    await expect
      .poll(async () => lower(await fleetUuids(translated)), { timeout: 20_000 })
      .toEqual(lower(await fleetUuids(own)));
    const memory = async (hub: typeof own) =>
      Object.values(await valuesByUuid(hub, "round(gpu_memory_total_bytes / 2^30)"));
    expect(await memory(translated)).toEqual(await memory(own));
    expect(Object.keys(await valuesByUuid(translated, "gpu_power_watts > 10"))).toHaveLength(2);
    expect(Object.keys(await valuesByUuid(own, "gpu_power_watts > 10"))).toHaveLength(2);
  },
);

test.each(["own", "hw"])("an agent that sends OTLP with %s names gives its GPUs", async (names) => {
  const hub = await openHub();
  const url = `${hub.url.replace("http:", "otlp+http:")}/v1/metrics?names=${names}`;
  const source = "sim:2?seed=3";
  const agent = await startAgent(["--source", source, "--host-name", "n1", "--to", url]);
  closes.push(() => agent.stop());
  await expect.poll(() => fleetUuids(hub), { timeout: 30_000 }).toHaveLength(2);
  const models = async () => (await fetch(`${hub.url}/api/fleet`)).text();
  await expect.poll(models, { timeout: 20_000 }).toMatch(/H200|H100|MI300X|RTX|RX/);
  const power = () => valuesByUuid(hub, 'gpu_power_watts{host="n1"}');
  await expect.poll(async () => Object.keys(await power())).toHaveLength(2);
});
