/** An agent's frames on their way into the hub: first the history, then what is shown now. Ends them when the agent ends. */
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
  /** Where the newest frames are shown. */
  readonly show: (delivery: Delivery) => void;
  readonly nowMs: () => number;
}

/** Smaller differences of clocks are the way of the request as much as the clocks. */
const noticedClockMs = 1_000;

/** @param client whose series they are, for the limit on series per client */
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
  // By schedule, so that each can end an instant after its own last frame.
  const place = `${source}/${wire.tier}`;
  const differenceMs = agent.clock?.differenceMs ?? 0;
  const delivery: Delivery = {
    frame,
    source,
    tier: wire.tier,
    // Freshness is reported by our clock, the frame's time is the agent's.
    freshForMs: wire.freshForMs + (Math.abs(differenceMs) > noticedClockMs ? differenceMs : 0),
    devices,
    host: wire.host === "" ? agent.record.host : wire.host,
  };
  const result = await writer.writeFrame({ ...delivery, source: place }, noLabels, client);
  agent.flows.set(place, { source: place, delivery });
  // What waited in a spool is history already.
  if (nowMs() - frame.timeMs <= delivery.freshForMs) show(delivery);
  return result;
}

/**
 * Nothing comes any more: every series of the agent ends. An instant after its own last value, so that what still waits in
 * the agent's spool comes after the end and is neither late nor in its way.
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
