/** The name of the machine, its labels, and links to the others. */
import type { Gpu } from "../../../../src/view/gpu.ts";
import { compareNames } from "../../../../src/view/sort.ts";
import { knownGpus } from "../../query/known-gpus.ts";
import { useNow } from "../../query/use-fetch.ts";
import { goTo, hrefOf } from "../../view-state/address.ts";

const EVERY_MS = 60_000;

/** Hosts with GPUs, and machines without a GPU that have an agent. */
export function useHosts(): readonly string[] {
  const { value } = useNow("group by (host) (host_info)", EVERY_MS);
  const described = (value?.samples ?? []).flatMap(({ labels }) => labels["host"] ?? []);
  return [...new Set([...knownGpus.value.map(({ device }) => device.host), ...described])].sort(
    compareNames,
  );
}

export interface HostHeadProps {
  readonly host: string;
  readonly hosts: readonly string[];
  readonly gpus: readonly Gpu[];
}

export function Head({ host, hosts, gpus }: HostHeadProps) {
  const lost = gpus.filter(({ state }) => state === "lost" || state === "silent").length;
  const all = hosts.includes(host) ? hosts : [host, ...hosts];
  return (
    <div class="gpu-head">
      <h2 class="page-title">{host}</h2>
      {lost > 0 && <span class="word bad">{lost} not reporting</span>}
      {gpus.some(({ device }) => device.simulated) && <span class="word note">simulated</span>}
      <span class="spacer" />
      <nav class="gpu-actions" aria-label="Hosts">
        <label>
          <span class="unseen">Host shown</span>
          <select
            class="input"
            value={host}
            onChange={(event) => goTo("host", { host: event.currentTarget.value })}
          >
            {all.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        {hosts.length > 1 && (
          <a
            class="action"
            href={hrefOf("compare", { hosts: [host, neighbourOf(host, hosts)].join(",") })}
          >
            Compare
          </a>
        )}
      </nav>
    </div>
  );
}

/** The next host, or the one before the last, for a comparison. */
const neighbourOf = (host: string, hosts: readonly string[]): string | undefined =>
  hosts[hosts.indexOf(host) + 1] ?? hosts.at(-2);
