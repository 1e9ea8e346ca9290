/** The home page: the fleet overview, the table, and the details of one GPU. */
import { useEffect, useState } from "preact/hooks";
import { useShortcuts } from "../../app/shortcuts.ts";
import { liveness } from "../../live/feed.ts";
import { useVerdicts } from "../../query/health.ts";
import { knownGpus, useKnownGpus } from "../../query/known-gpus.ts";
import { fleetGpus, isMomentLoaded, momentError, momentMs, useMoment } from "./moment.ts";
import { useAfterPaint } from "../../ui/use-after-paint.ts";
import { AttentionBanner } from "./attention-banner.tsx";
import { FleetTable } from "./fleet-table.tsx";
import { Heatmap } from "./heatmap.tsx";
import { Inspector } from "./inspector.tsx";
import { shortcuts } from "./keys.ts";
import { Onboarding } from "./onboarding.tsx";
import { Room } from "./room.tsx";
import { Scrubber } from "./scrubber.tsx";
import { Toolbar } from "./toolbar.tsx";
import { TotalsLine } from "./totals-line.tsx";
import { startOrder } from "./view.ts";
import "./fleet.css";

export function Page() {
  // Before the first drawing, which would otherwise contain no GPU.
  const [stopOrder] = useState(startOrder);
  useEffect(() => stopOrder, []);
  useShortcuts("Fleet", shortcuts);
  useKnownGpus();
  useVerdicts();
  useMoment();
  const isPainted = useAfterPaint();
  if (knownGpus.value.length === 0 && momentMs.value === undefined) return <Waiting />;
  if (momentMs.value !== undefined && fleetGpus.value.length === 0) return <NoMoment />;
  return (
    <>
      <AttentionBanner />
      <TotalsLine />
      <Room />
      <Scrubber />
      <Heatmap />
      {isPainted && (
        <>
          <Toolbar />
          <FleetTable />
          <Inspector />
        </>
      )}
    </>
  );
}

/** A past moment without GPUs: not read yet, or none existed. */
function NoMoment() {
  return (
    <>
      <Scrubber />
      <p class="waiting" role={momentError.value === undefined ? undefined : "alert"}>
        {momentError.value ??
          (isMomentLoaded.value
            ? "No GPU reported in the hour before this moment."
            : "Reading this moment from the store…")}
      </p>
    </>
  );
}

function Waiting() {
  if (liveness.value === "live") return <Onboarding />;
  return (
    <p class="waiting">
      {liveness.value === "lost" ? "gpulse does not answer." : "Waiting for the first reading…"}
    </p>
  );
}
