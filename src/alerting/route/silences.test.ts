import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { type AlertFiles, openAlertState } from "../state.ts";
import { type SilenceRequest, type Silences, silenceState } from "./silences.ts";

const nowMs = 1_700_000_000_500;
const hourMs = 3_600_000;
let dir: string;
let state: AlertFiles;
let silences: Silences;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-silences-"));
  state = openAlertState(dir, silentLog);
  silences = state.silences;
});
afterEach(() => {
  state.close();
  rmSync(dir, { recursive: true, force: true });
});

const request = (more: Partial<SilenceRequest> = {}): SilenceRequest => ({
  matchers: [{ name: "a", op: "=", value: "b" }],
  startsAtMs: nowMs - 5_000,
  endsAtMs: nowMs + hourMs,
  createdBy: "me",
  comment: "",
  ...more,
});
const matcher = (op: "=" | "!=" | "=~" | "!~", value: string) => [{ name: "a", op, value }];

test("a silence starts now at the earliest, mutes what it matches, and outlives a restart", () => {
  const id = silences.set(request(), nowMs);
  expect(silences.get(id)?.startsAtMs).toBe(nowMs);
  state.close();
  state = openAlertState(dir, silentLog);
  expect(state.silences.mutedBy(new Map([["a", "b"]]), nowMs)).toEqual([id]);
  expect(state.silences.mutedBy(new Map([["a", "c"]]), nowMs)).toEqual([]);
  expect(state.silences.mutedBy(new Map([["a", "b"]]), nowMs + hourMs)).toEqual([]);
});

test.each([
  [request({ endsAtMs: nowMs - 6_000 }), /start time must be before end time/],
  [request({ startsAtMs: nowMs - 9, endsAtMs: nowMs - 1 }), /end time can't be in the past/],
  [request({ id: "nope" }), /^silence not found$/],
  [request({ matchers: [] }), /at least one matcher required/],
  [request({ matchers: matcher("=", "") }), /must not match the empty string/],
  [request({ matchers: matcher("=~", "b|") }), /must not match the empty string/],
  [request({ matchers: matcher("=~", "(") }), /matcher 0: invalid regular expression "\("/],
  [request({ matchers: [{ name: "", op: "=", value: "b" }] }), /invalid label name ""/],
])("%j is refused: %s", (bad, words) => expect(() => silences.set(bad, nowMs)).toThrow(words));

test("a silence by what a label is not may be made, as with Alertmanager", () => {
  const id = silences.set(request({ matchers: matcher("!=", "b") }), nowMs);
  expect(silences.mutedBy(new Map(), nowMs)).toEqual([id]);
});

test("one that runs can end at another time; another start or other matchers make a new one", () => {
  const id = silences.set(request({ startsAtMs: nowMs }), nowMs);
  const later = nowMs + 60_000;
  const longer = request({ id, startsAtMs: nowMs, endsAtMs: later + hourMs, comment: "longer" });
  expect(silences.set(longer, later)).toBe(id);
  expect(silences.get(id)).toMatchObject({ endsAtMs: later + hourMs, comment: "longer" });
  const moved = silences.set({ ...longer, startsAtMs: later }, later);
  expect(moved).not.toBe(id);
  expect(silences.all.map((one) => silenceState(one, later))).toEqual(["expired", "active"]);
  const other = silences.set(
    { ...longer, id: moved, startsAtMs: later, matchers: matcher("=", "c") },
    later,
  );
  expect(other).not.toBe(moved);
  expect(silences.mutedBy(new Map([["a", "b"]]), later)).toEqual([]);
});

test("one to come can be moved, and ended before it began", () => {
  const id = silences.set(request({ startsAtMs: nowMs + 1_000 }), nowMs);
  const [silence] = silences.all;
  if (silence === undefined) throw new Error("it is not there");
  expect(silenceState(silence, nowMs)).toBe("pending");
  expect(silences.set(request({ id, startsAtMs: nowMs + 2_000 }), nowMs)).toBe(id);
  silences.expire(id, nowMs);
  expect(silences.get(id)).toMatchObject({ startsAtMs: nowMs, endsAtMs: nowMs });
  silences.expire(id, nowMs + 5_000);
  expect(silences.get(id)?.endsAtMs).toBe(nowMs);
  expect(() => silences.expire("nope", nowMs)).toThrow("silence not found");
});

test("what has ended is there for five days, and then forgotten", () => {
  const id = silences.set(request(), nowMs);
  silences.forgetExpired(nowMs + hourMs + 5 * 86_400_000);
  expect(silences.get(id)).toBeDefined();
  silences.forgetExpired(nowMs + hourMs + 5 * 86_400_000 + 1);
  expect(silences.get(id)).toBeUndefined();
});
