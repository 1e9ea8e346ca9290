/** The topology of a host: a sentence, the picture, and a list of facts that no source reports. */
import { useRef } from "preact/hooks";
import {
  buildTopology,
  describeTopology,
  topologyMetrics,
} from "../../../../src/view/host/topology.ts";
import { useInstant } from "../../query/use-fetch.ts";
import { useWidth } from "../../ui/use-size.ts";
import { timeWindow } from "../../view-state/time.ts";
import { TopologyPicture } from "./topology-picture.tsx";

const EVERY_MS = 60_000;

export function TopologySection({ host, who }: { host: string; who: string }) {
  const box = useRef<HTMLDivElement>(null);
  const widthPx = useWidth(box);
  const query = `last_over_time({__name__=~"${topologyMetrics.join("|")}",${who}}[15m])`;
  const atMs = Math.ceil(timeWindow.value.toMs / EVERY_MS) * EVERY_MS;
  const { value, error } = useInstant(query, Math.min(atMs, timeWindow.value.toMs));
  const topology = value === undefined ? undefined : buildTopology(value.samples);
  const isEmpty = topology?.nodes.length === 0;
  return (
    <section class="part topology">
      <h3>Topology</h3>
      <p class="unit">
        {error !== undefined && error.status !== 0
          ? error.message
          : topology === undefined
            ? "Reading…"
            : isEmpty
              ? "No GPU of this host is described at the end of this range."
              : describeTopology(topology)}
      </p>
      <div ref={box}>
        {topology !== undefined && !isEmpty && widthPx > 0 && (
          <TopologyPicture host={host} topology={topology} widthPx={widthPx} />
        )}
      </div>
    </section>
  );
}
