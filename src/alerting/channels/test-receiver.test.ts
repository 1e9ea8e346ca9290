import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import {
  type FakeService,
  openEntries,
  startFakeService,
  startMs,
} from "../../../test/fixtures/alerting/channels.ts";
import { testReceiver } from "./test-receiver.ts";

let service: FakeService;
beforeEach(async () => {
  service = await startFakeService();
});
afterEach(() => service.close());

const options = { clock: new FakeClock(startMs), externalUrl: "http://hub", id: "abc" };

test("each way of a receiver gets one marked notification, and what came of it is reported", async () => {
  service.answer = ({ path }) => ({ status: path === "/bad" ? 403 : 200, body: "no" });
  const receivers = await openEntries(
    `webhook_configs: [{ url: '${service.url}/good' }, { url: '${service.url}/bad' }]`,
  );
  const outcomes = await testReceiver(receivers, "ops.team", options);
  expect(outcomes).toEqual([
    { channel: "webhook", index: 0, ok: true, tookMs: 0 },
    {
      channel: "webhook",
      index: 1,
      ok: false,
      tookMs: 0,
      retryable: false,
      why: "the webhook answered 403: no",
    },
  ]);
  expect(service.requests).toHaveLength(2);
  for (const { text } of service.requests)
    expect(text).toContain("This is a test of the receiver ops.team");
  receivers.close();
});

test("a test leaves no incident open", async () => {
  const receivers = await openEntries(
    `pagerduty_configs: [{ url: '${service.url}', routing_key: abcdef }]`,
  );
  expect((await testReceiver(receivers, "ops.team", options))[0]?.ok).toBe(true);
  const events = service.requests.map(
    ({ text }) => JSON.parse(text) as { event_action: string; dedup_key: string },
  );
  expect(events.map(({ event_action }) => event_action)).toEqual(["trigger", "resolve"]);
  expect(new Set(events.map(({ dedup_key }) => dedup_key)).size).toBe(1);
  receivers.close();
});

test("a receiver that is not there, or sends nowhere, is said", async () => {
  const receivers = await openEntries("webhook_configs: []");
  await expect(testReceiver(receivers, "ops.taem", options)).rejects.toThrow(
    'Did you mean "ops.team"?',
  );
  await expect(testReceiver(receivers, "ops.team", options)).rejects.toThrow("sends nowhere");
  receivers.close();
});
