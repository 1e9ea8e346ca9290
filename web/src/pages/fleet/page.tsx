/** The home page: the fleet at a glance, the fleet in rows, one GPU closer up. */
import { useEffect, useState } from "preact/hooks";
import { useShortcuts } from "../../app/shortcuts.ts";
import { liveness } from "../../live/feed.ts";
import { useVerdicts } from "../../query/health.ts";
import { knownGpus, useKnownGpus } from "../../query/known-gpus.ts";
import { useAfterPaint } from "../../ui/use-after-paint.ts";
import { AttentionBanner } from "./attention-banner.tsx";
import { FleetTable } from "./fleet-table.tsx";
import { Heatmap } from "./heatmap.tsx";
import { Inspector } from "./inspector.tsx";
import { shortcuts } from "./keys.ts";
import { Toolbar } from "./toolbar.tsx";
import { TotalsLine } from "./totals-line.tsx";
import { startOrder } from "./view.ts";
import "./fleet.css";

export function Page() {
  // Before the first drawing, which would have no GPU in it.
  const [stopOrder] = useState(startOrder);
  useEffect(() => stopOrder, []);
  useShortcuts("Fleet", shortcuts);
  useKnownGpus();
  useVerdicts();
  const isPainted = useAfterPaint();
  if (knownGpus.value.length === 0) return <Waiting />;
  return (
    <>
      <AttentionBanner />
      <TotalsLine />
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

function Waiting() {
  if (liveness.value === "live") {
    return (
      <p class="waiting">
        No GPU has been read yet. <code>gpulse doctor</code> says what each source found.
      </p>
    );
  }
  return (
    <p class="waiting">
      {liveness.value === "lost" ? "gpulse does not answer." : "Waiting for the first reading…"}
    </p>
  );
}
