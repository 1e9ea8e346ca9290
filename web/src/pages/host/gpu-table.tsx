/** All GPUs of the host in their current state. */
import {
  type Gpu,
  memoryRatio,
  numberOf,
  powerLimit,
  powerRatio,
  read,
  shortModel,
  temperature,
} from "../../../../src/view/gpu.ts";
import { statusBadges, temperatureLevel } from "../../../../src/view/gpu-status.ts";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { Bar, Value } from "../../ui/value.tsx";
import { hrefOf } from "../../view-state/address.ts";

export function GpuTable({ host, gpus }: { host: string; gpus: readonly Gpu[] }) {
  return (
    <section class="part">
      <h3>GPUs now</h3>
      <Table
        caption={`GPUs of ${host}`}
        class="stacked host-gpus"
        columns={columns}
        rows={gpus}
        rowKey={({ id }) => id}
        rowLevel={({ state }) =>
          state === "lost" ? "bad" : state === "silent" ? "warn" : undefined
        }
      />
    </section>
  );
}

const columns: readonly TableColumn<Gpu>[] = [
  {
    key: "gpu",
    label: "GPU",
    by: ({ device }) => device.index,
    cell: ({ id, device }) => (
      <a href={hrefOf("gpu", { uuid: id })}>
        {shortModel(device)} #{device.index}
      </a>
    ),
  },
  {
    key: "state",
    label: "State",
    by: ({ state }) => state,
    cell: (gpu) => (
      <>
        <span class={`word ${gpu.state === "lost" ? "bad" : gpu.state === "silent" ? "warn" : ""}`}>
          {gpu.state}
        </span>
        {statusBadges(gpu)
          .filter(({ text }) => text !== gpu.state)
          .map(({ text, level, tip }) => (
            <span key={text} class={`word ${level}`} data-tip={tip}>
              {text}
            </span>
          ))}
      </>
    ),
  },
  {
    key: "utilisation",
    label: "Utilisation",
    numeric: true,
    family: "utilization",
    by: (gpu) => numberOf(read(gpu, "utilization")),
    cell: (gpu) => (
      <span class="share">
        <Value value={read(gpu, "utilization")} unit="ratio" />
        <Bar ratio={read(gpu, "utilization")} />
      </span>
    ),
  },
  {
    key: "memory",
    label: "Memory",
    numeric: true,
    family: "memory",
    by: (gpu) => numberOf(memoryRatio(gpu)),
    cell: (gpu) => (
      <span class="share">
        <Value value={memoryRatio(gpu)} unit="ratio" />
        <Bar ratio={memoryRatio(gpu)} />
      </span>
    ),
  },
  {
    key: "power",
    label: "Power",
    numeric: true,
    family: "power",
    by: (gpu) => numberOf(read(gpu, "power")),
    cell: (gpu) => (
      <span class="share">
        <Value value={read(gpu, "power")} unit="watts" of={powerLimit(gpu)} />
        <Bar ratio={powerRatio(gpu)} />
      </span>
    ),
  },
  {
    key: "temperature",
    label: "Temperature",
    numeric: true,
    family: "temperature",
    by: (gpu) => numberOf(temperature(gpu)),
    cell: (gpu) => (
      <span class={temperatureLevel(gpu)}>
        <Value value={temperature(gpu)} unit="celsius" />
      </span>
    ),
  },
  {
    key: "job",
    label: "Job",
    by: ({ row }) => row.job,
    cell: ({ row }) => (row.job === undefined ? "" : row.job),
  },
];
