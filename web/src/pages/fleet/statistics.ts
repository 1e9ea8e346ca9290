/** Min, avg and max of every GPU over the range, queried while the table shows them. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { statisticNames, statisticQuery } from "../../../../src/view/range-statistics.ts";
import { liveness } from "../../live/feed.ts";
import { queryInstant } from "../../query/client.ts";
import { idOfLabels } from "../../query/stored.ts";
import { type FleetStatistics, type StatColumn, type StatKey, statKeys } from "./stat-columns.ts";
import { following, rangeMs, timeWindow } from "../../view-state/time.ts";

/** The first of these series that a GPU has, in the same order as for its newest value. */
const series: Readonly<Record<StatKey, readonly string[]>> = {
  utilization: ["gpu_utilization_ratio"],
  memory: ["gpu_memory_used_bytes"],
  power: ["gpu_power_watts"],
  temperature: [
    `gpu_temperature_celsius{sensor="edge"}`,
    `gpu_temperature_celsius{sensor="hotspot"}`,
  ],
};

export const statistics = signal<FleetStatistics>(new Map());
export const statisticsError = signal<string | undefined>(undefined);

/** Shortest refresh interval, because the query reads every sample of every GPU. */
const LEAST_EVERY_MS = 15_000;

export function useStatistics(wanted: boolean): void {
  const { toMs } = timeWindow.value;
  const everyMs = Math.max(LEAST_EVERY_MS, Math.round(rangeMs.value / 120));
  const atMs = following.value ? Math.floor(toMs / everyMs) * everyMs : toMs;
  const lengthMs = rangeMs.value;
  const isOffline = liveness.value === "lost";
  useEffect(() => {
    if (!wanted || isOffline) return undefined;
    const abort = new AbortController();
    const asked = statKeys.flatMap((key) =>
      statisticNames.map(
        async (name): Promise<readonly [StatColumn, ReadonlyMap<string, number>]> => {
          const query = series[key]
            .map((one) => statisticQuery(name, one, lengthMs))
            .map((one) => `${name} by (host, instance, uuid) (${one})`)
            .join(" or ");
          const { samples } = await queryInstant(query, atMs, abort.signal);
          return [
            `${key}.${name}`,
            new Map(samples.map(({ labels, value }) => [idOfLabels(labels), value])),
          ];
        },
      ),
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
  }, [wanted, isOffline, atMs, lengthMs]);
}

const sayError = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);
