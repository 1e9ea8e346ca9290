/** One GPU over time: problems, charts, states and readings, jobs, and identity. */
import { useShortcuts } from "../../app/shortcuts.ts";
import { useTitle } from "../../app/title.ts";
import { liveness } from "../../live/feed.ts";
import { findGpu, type Gpu, nameOf } from "../../../../src/view/gpu.ts";
import { knownGpus, storeAsked, useKnownGpus } from "../../query/known-gpus.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";
import { Empty } from "../../ui/banner.tsx";
import { Explain } from "../../ui/explain.tsx";
import { useLaterCode } from "../../ui/use-later-code.ts";
import { goTo, hrefOf } from "../../view-state/address.ts";
import { Param, optional } from "../../view-state/param.ts";
import { range, zoomOut } from "../../view-state/time.ts";
import { formatRange } from "../../view-state/range.ts";
import { ChartGrid } from "./chart-grid.tsx";
import { Head, compareHref, neighbour } from "./head.tsx";
import { Health } from "./health.tsx";
import { useSeriesStatistics } from "./use-series-statistics.ts";
import { useReportedMetrics } from "../../query/use-reported-metrics.ts";
import "./gpu.css";

const uuidParam = new Param("uuid", optional, "push");

const selectedGpu = (): Gpu | undefined => {
  const all = knownGpus.value;
  return uuidParam.value === undefined ? all[0] : findGpu(all, uuidParam.value);
};

const step = (by: 1 | -1): boolean => {
  const gpu = selectedGpu();
  const to = gpu === undefined ? undefined : neighbour(gpu, knownGpus.value, by);
  if (to === undefined) return false;
  goTo("gpu", { uuid: to.id });
  return true;
};

const shortcuts = [
  {
    keys: ["j", "k"],
    says: "next and previous GPU",
    run: (key: string) => step(key === "j" ? 1 : -1),
  },
  {
    keys: ["c"],
    says: "compare this GPU",
    run: () => {
      const gpu = selectedGpu();
      if (gpu === undefined) return false;
      const href = new URL(compareHref(gpu, knownGpus.value), location.href);
      goTo("compare", { gpus: href.searchParams.get("gpus") ?? "" });
      return true;
    },
  },
];

export function Page() {
  useKnownGpus();
  useShortcuts("GPU", shortcuts);
  const gpu = selectedGpu();
  useTitle(gpu === undefined ? undefined : nameOf(gpu));
  return gpu === undefined ? <Nobody /> : <GpuDetails key={gpu.id} gpu={gpu} />;
}

function GpuDetails({ gpu }: { gpu: Gpu }) {
  const who = matchersOf(gpu.device);
  const { value: reported, error } = useReportedMetrics(who);
  const found = useSeriesStatistics(gpu, who, reported);
  const { Loaded: BelowCharts, isMissing } = useLaterCode(
    async () => (await import("./below-charts.tsx")).BelowCharts,
  );
  const hasReadings = reported !== undefined && reported.size > 0;
  return (
    <>
      <Head gpu={gpu} all={knownGpus.value} />
      <Health gpu={gpu} />
      <Explain
        kind="gpu"
        id={`${gpu.device.uuid}@${gpu.device.host}`}
        timeMs={range.value.kind === "last" ? undefined : range.value.toMs}
      />
      {error !== undefined && error.status !== 0 && (
        <p class="bad" role="alert">
          {error.message}
        </p>
      )}
      {reported?.size === 0 && (
        <Empty title={`No reading in this range: ${formatRange(range.value)}.`}>
          <button type="button" class="link" onClick={zoomOut}>
            Zoom out
          </button>
        </Empty>
      )}
      {hasReadings && <ChartGrid device={gpu.device} {...{ reported, found }} />}
      {/* The first drawing has one row of charts; anything below it would be moved by the other charts. */}
      {BelowCharts !== undefined && (
        <BelowCharts
          {...{ gpu, who, found }}
          reported={hasReadings ? reported : undefined}
          isSettled={reported !== undefined || error !== undefined}
        />
      )}
      {isMissing && (
        <p class="unit" role="alert">
          The readings could not be loaded: reload the page.
        </p>
      )}
    </>
  );
}

function Nobody() {
  if (liveness.value === "connecting" || !storeAsked.value)
    return <p class="waiting">Waiting for the first reading…</p>;
  const asked = uuidParam.value;
  return (
    <Empty
      title={
        asked === undefined
          ? "No GPU has reported yet."
          : `No GPU ${asked} was seen in the last day.`
      }
    >
      <a href={hrefOf("fleet")}>Open the fleet</a>
    </Empty>
  );
}
