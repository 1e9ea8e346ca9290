/** The GPU's identity and limits: facts that rarely change. */
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { formatReadable } from "../../format/readable.ts";
import type { Gpu } from "../../../../src/view/gpu.ts";
import type { InstantSample } from "../../query/client.ts";
import type { Labels } from "../../query/columns.ts";
import { useNow } from "../../query/use-fetch.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";

const EVERY_MS = 60_000;

type Fact = readonly [label: string, value: string];

interface Limit {
  readonly metric: string;
  readonly unit: Unit;
  readonly label: string | ((labels: Labels) => string);
}

const limits: readonly Limit[] = [
  { metric: "gpu_memory_total_bytes", unit: "bytes", label: "Memory" },
  { metric: "gpu_power_limit_watts", unit: "watts", label: "Power limit" },
  { metric: "gpu_power_limit_default_watts", unit: "watts", label: "Power limit, default" },
  { metric: "gpu_power_limit_min_watts", unit: "watts", label: "Power limit, lowest" },
  { metric: "gpu_power_limit_max_watts", unit: "watts", label: "Power limit, highest" },
  {
    metric: "gpu_temperature_limit_celsius",
    unit: "celsius",
    label: ({ limit = "" }) =>
      ({
        target: "Kept below",
        slowdown: "Slows down at",
        shutdown: "Shuts down at",
        memory: "Memory slows down at",
      })[limit] ?? limit,
  },
  {
    metric: "gpu_clock_max_hertz",
    unit: "hertz",
    label: ({ domain = "" }) =>
      `Highest ${domain === "sm" ? "SM" : domain.replaceAll("_", " ")} clock`,
  },
];

export function Identity({ gpu }: { gpu: Gpu }) {
  const { device } = gpu;
  const names = [...limits.map(({ metric }) => metric), ...linkNames, "gpu_p2p_accessible"];
  // Facts are written every five minutes, so that an instant query could miss the last sample.
  const query = `last_over_time({__name__=~"${names.join("|")}",${matchersOf(device)}}[15m])`;
  const { value } = useNow(query, EVERY_MS);
  const samples = value?.samples ?? [];
  const who: readonly (readonly [string, string | undefined])[] = [
    ["Model", device.model],
    ["UUID", device.uuid],
    ["Host", device.host],
    ["Index", String(device.index)],
    ["Vendor", device.vendor],
    ["PCI address", device.pciBusId],
    ["Driver", device.driver],
    ["Firmware", device.vbios],
    ["Connected by", device.linkType],
    ["PCIe link", linkOf(samples)],
    ["Peer-to-peer access", peersOf(samples)],
    ["Source", device.source],
  ];
  return (
    <div class="gpu-identity">
      <Facts title="Identity" facts={who.filter((one): one is Fact => one[1] !== undefined)} />
      <Facts
        title="Limits"
        facts={samples.flatMap(limitOf)}
        empty={value === undefined ? "" : "This device reports no limits."}
      />
    </div>
  );
}

const linkNames = [
  "gpu_pcie_link_generation",
  "gpu_pcie_link_generation_max",
  "gpu_pcie_link_width",
  "gpu_pcie_link_width_max",
] as const;

function linkOf(samples: readonly InstantSample[]): string | undefined {
  const [generation, generationMax, width, widthMax] = linkNames.map(
    (name) => samples.find(({ labels }) => labels["__name__"] === name)?.value,
  );
  if (generation === undefined || width === undefined) return undefined;
  const now = `generation ${generation} × ${width}`;
  const full = generationMax === undefined || widthMax === undefined;
  if (full || (generation === generationMax && width === widthMax)) return now;
  return `${now}, of at most ${generationMax} × ${widthMax}`;
}

function peersOf(samples: readonly InstantSample[]): string | undefined {
  const peers = samples.filter(({ labels }) => labels["__name__"] === "gpu_p2p_accessible");
  if (peers.length === 0) return undefined;
  return `${peers.filter(({ value }) => value > 0).length} of ${peers.length}`;
}

function limitOf({ labels, value }: InstantSample): Fact[] {
  const limit = limits.find(({ metric }) => metric === labels["__name__"]);
  if (limit === undefined) return [];
  const label = typeof limit.label === "string" ? limit.label : limit.label(labels);
  return [[label, formatReadable(value, limit.unit)]];
}

function Facts({
  title,
  facts,
  empty = "",
}: {
  title: string;
  facts: readonly Fact[];
  empty?: string;
}) {
  return (
    <section class="part">
      <h3>{title}</h3>
      {facts.length === 0 && <p class="unit">{empty}</p>}
      <dl class="facts">
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
