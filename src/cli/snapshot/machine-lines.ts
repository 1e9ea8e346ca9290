/** Formats the machine around the GPUs, one line per known part. */
import { countOf } from "../command/quantity.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import { formatFactBytes } from "../../runs/snapshot/words.ts";

type Line = readonly [name: string, text: string];

export function machineLines({ facts }: Snapshot): Line[] {
  const { board, processor, memory, os, kernel, software } = facts;
  const lines: (readonly [string, string | undefined])[] = [
    ["Peer access", peers(facts.p2p)],
    ["Peer links", peerLinks(facts.p2pLinks)],
    ["Machine", join([board.vendor, board.product, after("BIOS", board.biosVersion)])],
    [
      "Processor",
      join([
        processor.model,
        count(processor.sockets, "socket"),
        count(processor.cores, "core"),
        count(processor.threads, "thread"),
        after("microcode", processor.microcode),
      ]),
    ],
    ["Caches", caches(processor.caches)],
    ["Frequency", frequency(processor.frequency)],
    [
      "Memory",
      join([
        memory.totalBytes === undefined ? undefined : formatFactBytes(memory.totalBytes),
        memory.numaNodes === undefined ? undefined : count(memory.numaNodes.length, "NUMA node"),
        memory.swapTotalBytes === undefined || memory.swapTotalBytes === 0
          ? undefined
          : `${formatFactBytes(memory.swapTotalBytes)} swap`,
        memory.hugePages === undefined || memory.hugePages.count === 0
          ? undefined
          : `${memory.hugePages.count} huge pages of ${formatFactBytes(memory.hugePages.sizeBytes)}`,
        after("transparent huge pages", memory.transparentHugePages),
      ]),
    ],
    [
      "Storage",
      join(
        facts.storage.map(({ name, model, sizeBytes, kind }) =>
          [
            name,
            model,
            sizeBytes === undefined ? undefined : formatFactBytes(sizeBytes),
            `(${kind})`,
          ]
            .filter((part) => part !== undefined)
            .join(" "),
        ),
      ),
    ],
    [
      "Network",
      join(
        facts.network.map(({ name, driver, bitsPerSecond }) =>
          [name, bitsPerSecond === undefined ? undefined : `${bitsPerSecond / 1e9} Gbit/s`, driver]
            .filter((part) => part !== undefined)
            .join(" "),
        ),
      ),
    ],
    ["System", join([os.name, after("kernel", os.kernel), processor.architecture])],
    ["Kernel args", kernel?.commandLine],
    [
      "Kernel",
      join([
        after("SMT", kernel?.smt),
        after("clock source", kernel?.clocksource),
        after("THP defrag", kernel?.transparentHugePagesDefrag),
        ...["kernel.numa_balancing", "vm.swappiness", "vm.zone_reclaim_mode"].map((name) =>
          after(name, kernel?.sysctl?.[name]),
        ),
      ]),
    ],
    [
      "Modules",
      join(
        Object.entries(kernel?.modules ?? {}).map(
          ([name, parameters]) => `${name} (${Object.keys(parameters).length} parameters)`,
        ),
      ),
    ],
    ["Container", container(facts.container)],
    [
      "Software",
      join(
        Object.entries(software.versions).map(
          ([name, version]) => `${name.replaceAll("_", " ")} ${version}`,
        ),
      ),
    ],
  ];
  return lines.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]));
}

function peers(p2p: Snapshot["facts"]["p2p"]): string | undefined {
  const all = Object.values(p2p).flatMap((row) => Object.values(row));
  if (all.length === 0) return undefined;
  const yes = all.filter(Boolean).length;
  if (yes === all.length) return `all ${Object.keys(p2p).length} GPUs reach each other`;
  return yes === 0 ? "no GPU reaches another" : `${yes} of ${all.length} directions`;
}

const bases: Readonly<Record<string, string>> = {
  reported: "reported by the driver",
  links: "links up × rate",
  pcie: "slower PCIe link of the two",
};

/** Groups identical pairs. */
function peerLinks(links: Snapshot["facts"]["p2pLinks"]): string | undefined {
  const counts = new Map<string, number>();
  for (const { via, bandwidthBytesPerSecond: rate, basis } of Object.values(links ?? {}).flatMap(
    (row) => Object.values(row),
  )) {
    const text = `${via}${rate === undefined ? "" : ` up to ${Math.round(rate / 1e8) / 10} GB/s each way, not measured (${bases[basis ?? ""] ?? basis ?? "unknown"})`}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return join([...counts].map(([text, pairs]) => `${pairs} directions ${text}`));
}

function caches(list: Snapshot["facts"]["processor"]["caches"]): string | undefined {
  return join(
    (list ?? []).map(
      ({ level, type, sizeBytes, count: number }) =>
        `L${level}${type === "unified" ? "" : ` ${type}`} ${number} × ${formatFactBytes(sizeBytes)}`,
    ),
  );
}

function frequency(policy: Snapshot["facts"]["processor"]["frequency"]): string | undefined {
  const { minHertz, maxHertz, boost } = policy;
  const gigahertz = (hertz: number): string => (hertz / 1e9).toFixed(2);
  return join([
    after("governor", policy.governor),
    minHertz === undefined || maxHertz === undefined
      ? undefined
      : `${gigahertz(minHertz)} to ${gigahertz(maxHertz)} GHz`,
    boost === undefined ? undefined : `boost ${boost ? "on" : "off"}`,
    policy.driver,
    policy.energyPreference,
  ]);
}

function container(facts: Snapshot["facts"]["container"]): string | undefined {
  const { memoryLimitBytes, cpuLimitCores } = facts;
  const limits = [
    memoryLimitBytes === undefined
      ? undefined
      : `memory limit ${formatFactBytes(memoryLimitBytes)}`,
    cpuLimitCores === undefined ? undefined : `processor limit ${cpuLimitCores}`,
  ];
  return facts.inside ? join([facts.runtime, ...limits]) : join(["none", ...limits]);
}

const after = (name: string, value: string | undefined): string | undefined =>
  value === undefined ? undefined : `${name} ${value}`;

const count = (value: number | undefined, noun: string): string | undefined =>
  value === undefined ? undefined : countOf(value, noun);

function join(parts: readonly (string | undefined)[]): string | undefined {
  const said = parts.filter((part) => part !== undefined);
  return said.length === 0 ? undefined : said.join(", ");
}
