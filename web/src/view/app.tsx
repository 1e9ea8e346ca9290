/** The page from top to bottom: who and whether live, what is wrong, the fleet at a glance, the fleet in rows. */
import { fleet, frame, gpus, liveness, outdated } from "../page/live.ts";
import { FleetTable } from "./fleet-table.tsx";
import { Header } from "./header.tsx";
import { Heatmap } from "./heatmap.tsx";
import { Help } from "./help.tsx";
import { Inspector } from "./inspector.tsx";
import { Tip } from "./tip.tsx";
import { Toolbar } from "./toolbar.tsx";
import { TotalsLine } from "./totals-line.tsx";

export function App() {
  const empty = gpus.value.length === 0;
  return (
    <div class="page" data-live={liveness.value}>
      <Header />
      <Notices />
      <main>
        {empty ? (
          <Waiting />
        ) : (
          <>
            <TotalsLine />
            <Heatmap />
            <Toolbar />
            <FleetTable />
          </>
        )}
      </main>
      <Inspector />
      <Help />
      <Tip />
    </div>
  );
}

function Notices() {
  const devices = fleet.value?.devices ?? [];
  const simulated = devices.filter((device) => device.simulated).length;
  return (
    <>
      {outdated.value && (
        <p class="notice warn" role="alert">
          gpulse was upgraded while this page was open.{" "}
          <button type="button" onClick={() => location.reload()}>
            Load the new page
          </button>
        </p>
      )}
      {simulated > 0 && (
        <p class="notice simulated" role="note">
          <strong>
            {simulated === devices.length
              ? "Simulated fleet: no GPU was read."
              : "Partly simulated."}
          </strong>{" "}
          {simulated === devices.length
            ? "Every number on this page comes from the simulator."
            : `${simulated} of ${devices.length} GPUs come from the simulator; they are marked.`}
        </p>
      )}
      {(frame.value?.problems ?? []).map((problem) => (
        <p key={problem} class="notice warn" role="status">
          {problem}
        </p>
      ))}
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
