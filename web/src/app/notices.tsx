/** Notices for every page: a lost connection, an upgrade, simulated data, sources that do not deliver. */
import { formatAge } from "../../../src/view/age.ts";
import { formatInstant } from "../view-state/range.ts";
import { closedReason, fleet, frame, liveness, outdated, silentMs } from "../live/feed.ts";
import { isShared, me } from "../query/me.ts";
import { knownGpus, simulatedCount } from "../query/known-gpus.ts";

export function Notices() {
  const [simulated, known] = [simulatedCount.value, knownGpus.value.length];
  return (
    <section aria-label="Notices">
      {liveness.value === "lost" && fleet.value !== undefined && (
        <p class="notice warn connection" role="alert">
          {closedReason.value ?? "gpulse does not answer: reconnecting."} What is shown was read{" "}
          {formatAge(silentMs.value)} ago.
        </p>
      )}
      {outdated.value && (
        <p class="notice warn" role="alert">
          gpulse was upgraded while this page was open.{" "}
          <button type="button" onClick={() => location.reload()}>
            Load the new page
          </button>
        </p>
      )}
      {isShared.value && (
        <p class="notice" role="note">
          <strong>Shared view, read only.</strong> {me.value?.name}, ends{" "}
          {formatInstant(Date.parse(me.value?.ends ?? "")).slice(0, 16)}.
        </p>
      )}
      {simulated > 0 && (
        <p class="notice simulated" role="note">
          <strong>
            {simulated === known ? "Simulated fleet: no GPU was read." : "Partly simulated."}
          </strong>{" "}
          {simulated === known
            ? "All GPUs are simulated."
            : `${simulated} of ${known} GPUs are simulated; they are marked.`}
        </p>
      )}
      {(frame.value?.problems ?? []).map((problem) => (
        <p key={problem} class="notice warn" role="status">
          {problem}
        </p>
      ))}
    </section>
  );
}
