/** Charts of the whole fleet above the table. Loaded after the first drawing; their space is reserved. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export function Room() {
  const [Charts, setCharts] = useState<ComponentType | undefined>(undefined);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    let left = false;
    import("./room-charts.tsx").then(
      ({ RoomCharts }) => left || setCharts(() => RoomCharts),
      () => left || setMissing(true),
    );
    return () => {
      left = true;
    };
  }, []);
  return (
    <section class="room" aria-label="The room over time">
      {Charts === undefined ? (
        isMissing && <p class="unit">The charts could not be loaded: reload the page.</p>
      ) : (
        <Charts />
      )}
    </section>
  );
}
