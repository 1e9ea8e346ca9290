/** One GPU over time. */
import { useTitle } from "../../app/title.ts";
import { QueryChart } from "../../chart/query-chart.tsx";
import { gpus } from "../../live/feed.ts";
import { nameOf } from "../../live/gpu.ts";
import { Param, optional } from "../../view-state/param.ts";

const uuidParam = new Param("uuid", optional, "push");

export function Page() {
  const gpu = gpus.value.find(({ device }) => device.uuid === uuidParam.value) ?? gpus.value[0];
  useTitle(gpu === undefined ? undefined : nameOf(gpu));
  if (gpu === undefined) return <p class="waiting">No GPU has been read yet.</p>;
  const { uuid } = gpu.device;
  return (
    <>
      <h2 class="page-title">{nameOf(gpu)}</h2>
      <div class="chart-grid">
        <QueryChart
          title="Utilisation"
          family="utilization"
          unit="ratio"
          min={0}
          max={1}
          queries={[{ query: `gpu_utilization_ratio{uuid="${uuid}"}`, label: "GPU" }]}
        />
        <QueryChart
          title="Temperature"
          family="temperature"
          unit="celsius"
          queries={[
            {
              query: `gpu_temperature_celsius{uuid="${uuid}"}`,
              label: ({ sensor }) => sensor ?? "edge",
            },
            {
              query: `gpu_temperature_limit_celsius{uuid="${uuid}",limit="slowdown"}`,
              label: "slows down",
              dashed: true,
            },
          ]}
        />
        <QueryChart
          title="Power"
          family="power"
          unit="watts"
          min={0}
          queries={[
            { query: `gpu_power_watts{uuid="${uuid}"}`, label: "board" },
            { query: `gpu_power_limit_watts{uuid="${uuid}"}`, label: "limit", dashed: true },
          ]}
        />
        <QueryChart
          title="Memory"
          family="memory"
          unit="bytes"
          min={0}
          queries={[
            { query: `gpu_memory_used_bytes{uuid="${uuid}"}`, label: "used" },
            { query: `gpu_memory_total_bytes{uuid="${uuid}"}`, label: "total", dashed: true },
          ]}
        />
      </div>
    </>
  );
}
