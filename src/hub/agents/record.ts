/** What the hub remembers of an agent over its own restarts. */
import * as v from "valibot";

const time = v.pipe(v.number(), v.minValue(0));

export const recordSchema = v.object({
  id: v.string(),
  host: v.string(),
  job: v.string(),
  instance: v.string(),
  version: v.string(),
  firstSeenMs: time,
  lastSeenMs: time,
  intervalMs: time,
  /** When readings of it were last stored. */
  reportedMs: v.optional(time),
  /** Whose token or address its place counts against. */
  client: v.optional(v.object({ principal: v.string(), address: v.string() })),
  /** It said that it stops. */
  stopped: v.boolean(),
  /** The newest last: how far each of its spools is acknowledged. */
  sessions: v.array(v.object({ id: v.string(), acknowledged: time })),
});

export type AgentRecord = v.InferOutput<typeof recordSchema>;

export function parseRecord(value: unknown): AgentRecord | undefined {
  const checked = v.safeParse(recordSchema, value);
  return checked.success ? checked.output : undefined;
}
