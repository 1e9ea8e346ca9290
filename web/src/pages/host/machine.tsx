/** Facts of the machine: system, processors, memory, uptime. Hidden if it has no agent. */
import { formatAge } from "../../../../src/view/age.ts";
import type { Gpu } from "../../../../src/view/gpu.ts";
import { customLabels } from "../../../../src/view/host/labels.ts";
import { formatReadable } from "../../format/readable.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { gpuLabels } from "../../query/known-gpus.ts";
import { useNow } from "../../query/use-fetch.ts";
import { hrefOf } from "../../view-state/address.ts";

const EVERY_MS = 60_000;
const names = [
  "host_info",
  "host_cpu_info",
  "host_cpu_sockets",
  "host_cpu_cores",
  "host_cpu_threads",
  "host_memory_total_bytes",
  "host_boot_timestamp_seconds",
];

export interface MachineFactsProps {
  readonly who: string;
  readonly gpus: readonly Gpu[];
  readonly reported: ReadonlySet<string> | undefined;
}

export function MachineFacts({ who, gpus, reported }: MachineFactsProps) {
  // Facts are written every five minutes, so that an instant query could miss the last sample.
  const query = `last_over_time({__name__=~"${names.join("|")}",${who}}[15m])`;
  const { value } = useNow(query, EVERY_MS);
  const find = (name: string) => value?.samples.find(({ labels }) => labels["__name__"] === name);
  const [info, cpu] = [find("host_info")?.labels, find("host_cpu_info")?.labels];
  const [sockets, cores, threads] = ["sockets", "cores", "threads"].map(
    (what) => find(`host_cpu_${what}`)?.value,
  );
  const memory = find("host_memory_total_bytes")?.value;
  const boot = find("host_boot_timestamp_seconds")?.value;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["System", info?.["system"]],
    ["Kernel", info?.["kernel"]],
    ["CPU", cpu?.["model"]],
    [
      "Cores",
      cores === undefined
        ? undefined
        : [
            sockets !== undefined && sockets > 1
              ? `${sockets} × ${cores / sockets}`
              : String(cores),
            ...(threads === undefined ? [] : [`${threads} threads`]),
          ].join(", "),
    ],
    ["Memory", memory === undefined ? undefined : formatReadable(memory, "bytes")],
    ["Running for", boot === undefined ? undefined : formatAge(hubTimeMs() - boot * 1_000)],
  ];
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
  const labels = customLabels(
    gpus.map(({ id }) => gpuLabels.value.get(id)).filter((own) => own !== undefined),
  );
  const isUndescribed = value !== undefined && reported !== undefined && known.length === 0;
  return (
    <dl class="host-facts" aria-label="The machine">
      {Object.entries(labels).map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <a href={fleetHref(name, text)}>{text}</a>
          </dd>
        </div>
      ))}
      {known.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
      {isUndescribed && (
        <div>
          <dt>Machine</dt>
          <dd class="unit">
            not described: no agent with the source <code>host:</code> reports it.
          </dd>
        </div>
      )}
    </dl>
  );
}

/** Links to the fleet grouped by this label, filtered to its own group if the filter syntax can express it. */
const fleetHref = (name: string, text: string): string =>
  hrefOf("fleet", { by: name, q: /\s/.test(text) ? undefined : `${name}=${text}` });
