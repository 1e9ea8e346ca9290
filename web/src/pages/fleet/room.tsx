/** Charts of the whole fleet above the table. Loaded after the first drawing; their space is reserved. */
import { useLaterCode } from "../../ui/use-later-code.ts";

export function Room() {
  const { Loaded, isMissing } = useLaterCode(
    async () => (await import("./room-charts.tsx")).RoomCharts,
  );
  return (
    <section class="room" aria-label="The room over time">
      {Loaded !== undefined && <Loaded />}
      {isMissing && <p class="unit">The charts could not be loaded: reload the page.</p>}
    </section>
  );
}
