/** The record of an agent that survives restarts of the hub. */
import * as v from "valibot";

const time = v.pipe(v.number(), v.minValue(0));

const recordSchema = v.object({
  id: v.string(),
  host: v.string(),
  job: v.string(),
  instance: v.string(),
  version: v.string(),
  firstSeenMs: time,
  lastSeenMs: time,
  intervalMs: time,
  /** When samples of the agent were last stored. */
  reportedMs: v.optional(time),
  /** The client (token or address) that the agent's slot counts against. */
  client: v.optional(v.object({ principal: v.string(), address: v.string() })),
  /** True if the agent announced its shutdown. */
  stopped: v.boolean(),
  /** Newest last: the acknowledged position of each of its spools. */
  sessions: v.array(v.object({ id: v.string(), acknowledged: time })),
});

export type AgentRecord = v.InferOutput<typeof recordSchema>;

export function parseRecord(value: unknown): AgentRecord | undefined {
  const checked = v.safeParse(recordSchema, value);
  return checked.success ? checked.output : undefined;
}
