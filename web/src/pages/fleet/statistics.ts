/** Least, mean and most of every GPU over the range, asked for while the table shows them. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { liveness } from "../../live/feed.ts";
import { queryInstant } from "../../query/client.ts";
import { idOfLabels } from "../../query/stored.ts";
import {
  type FleetStatistics,
  type StatColumn,
  type StatKey,
  statKeys,
  statNames,
} from "./stat-columns.ts";
import { following, rangeMs, timeWindow } from "../../view-state/time.ts";

const series: Readonly<Record<StatKey, string>> = {
  utilization: "gpu_utilization_ratio",
  memory: "gpu_memory_used_bytes",
  power: "gpu_power_watts",
  temperature: `gpu_temperature_celsius{sensor=~"edge|hotspot"}`,
};

export const statistics = signal<FleetStatistics>(new Map());
export const statisticsError = signal<string | undefined>(undefined);

/** Every sample of every GPU is read for it: seldom enough that the hub has other things to do. */
const LEAST_EVERY_MS = 15_000;

export function useStatistics(wanted: boolean): void {
  const { toMs } = timeWindow.value;
  const everyMs = Math.max(LEAST_EVERY_MS, Math.round(rangeMs.value / 120));
  const atMs = following.value ? Math.floor(toMs / everyMs) * everyMs : toMs;
  const seconds = Math.max(1, Math.round(rangeMs.value / 1_000));
  const isOffline = liveness.value === "lost";
  useEffect(() => {
    if (!wanted || isOffline) return undefined;
    const abort = new AbortController();
    const asked = statKeys.flatMap((key) =>
      statNames.map(async (name): Promise<readonly [StatColumn, ReadonlyMap<string, number>]> => {
        const query = `${name} by (host, instance, uuid) (${name}_over_time(${series[key]}[${seconds}s]))`;
        const { samples } = await queryInstant(query, atMs, abort.signal);
        return [
          `${key}.${name}`,
          new Map(samples.map(({ labels, value }) => [idOfLabels(labels), value])),
        ];
      }),
    );
    const settle = (columns: FleetStatistics, problem: string | undefined): void => {
      if (abort.signal.aborted) return;
      statistics.value = columns;
      statisticsError.value = problem;
    };
    Promise.all(asked).then(
      (columns) => settle(new Map(columns), undefined),
      (thrown: unknown) => settle(statistics.peek(), sayError(thrown)),
    );
    return () => abort.abort();
  }, [wanted, isOffline, atMs, seconds]);
}

const sayError = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
