/** Ingests the frames of one agent: first into the history, then into the live view. Ends its series when the agent ends. */
import type { Frame } from "../../model/frame.ts";
import type { Device } from "../../model/device.ts";
import type { PushFrame } from "../../formats/frames/frame.ts";
import type { SampleWriter } from "../../storage/history.ts";
import { presence } from "../../model/presence.ts";
import { noLabels } from "../../model/labels.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { AppendResult } from "../../storage/embedded/options.ts";
import type { Agent } from "./agent.ts";
import type { KnownLayout } from "./definitions.ts";

export interface FlowOptions {
  readonly writer: SampleWriter;
  /** Passes the newest frames to the live view. */
  readonly show: (delivery: Delivery) => void;
  readonly nowMs: () => number;
}

/** Smaller clock differences may be network latency. */
const noticedClockMs = 1_000;

/** @param client the client whose series limit applies */
export async function ingestFrame(
  agent: Agent,
  wire: PushFrame,
  { layout }: KnownLayout,
  devices: readonly Device[],
  { writer, show, nowMs }: FlowOptions,
  client: string | undefined,
): Promise<AppendResult> {
  const frame: Frame = {
    timeMs: wire.timeMs,
    layout,
    values: wire.values,
    presence: wire.presence,
  };
  const source = `agent:${agent.id}/${wire.source}`;
  // Keyed by schedule, so that each schedule ends just after its own last frame.
  const place = `${source}/${wire.tier}`;
  const differenceMs = agent.clock?.differenceMs ?? 0;
  const delivery: Delivery = {
    frame,
    source,
    tier: wire.tier,
    // Freshness is measured with the hub's clock, the frame's timestamp with the agent's.
    freshForMs: wire.freshForMs + (Math.abs(differenceMs) > noticedClockMs ? differenceMs : 0),
    devices,
    host: wire.host === "" ? agent.record.host : wire.host,
  };
  const result = await writer.writeFrame({ ...delivery, source: place }, noLabels, client);
  agent.flows.set(place, { source: place, delivery });
  // Frames that waited in a spool are too old for the live view.
  if (nowMs() - frame.timeMs <= delivery.freshForMs) show(delivery);
  return result;
}

/**
 * Ends every series of the agent, 1 ms after its own last value, so that frames still in the agent's spool arrive after the end
 * and are not rejected as out of order.
 */
export async function endFlows(agent: Agent, { writer, show }: FlowOptions): Promise<void> {
  for (const [place, { source, delivery }] of agent.flows) {
    const { frame } = delivery;
    const states = new Uint8Array(frame.presence.length).fill(presence.ended);
    show({ ...delivery, frame: { ...frame, presence: states }, freshForMs: -1 });
    await writer.endSource(source, delivery.frame.timeMs + 1);
    agent.flows.delete(place);
  }
}
