import { afterEach, beforeEach, expect, test } from "vitest";
import { parseRouting } from "../route/config.ts";
import { silentLog } from "../../base/log.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import {
  type FakeService,
  sendBy,
  startFakeService,
  startMs,
  twoAlerts,
} from "../../../test/fixtures/alerting/channels.ts";
import { openReceivers } from "./open.ts";

let service: FakeService;
beforeEach(async () => {
  service = await startFakeService();
});
afterEach(() => service.close());

const open = async (routes: string, entry: string) => {
  const source = `route:\n  receiver: ops.team\n${routes}\nreceivers: [{ name: ops.team, ${entry} }]\n`;
  const routing = await parseRouting(source, "alertmanager.yml");
  const options = { file: "alertmanager.yml", env: {}, log: silentLog };
  const receivers = await openReceivers(routing, { ...options, clock: new FakeClock(startMs) });
  return { routing, receivers };
};

test("a route's labels are merged with those above it", async () => {
  const { routing, receivers } = await open(
    "  labels: { team: gpu, page: 'no' }\n  routes: [{ matchers: [a=b], labels: { page: 'yes' } }, {}]",
    "webhook_configs: []",
  );
  expect(routing.route.labels).toEqual({ team: "gpu", page: "no" });
  expect(routing.route.routes.map(({ labels }) => labels)).toEqual([
    { team: "gpu", page: "yes" },
    { team: "gpu", page: "no" },
  ]);
  receivers.close();
});

test("templates see a route's labels, printed with the alerts of the notification", async () => {
  const { receivers } = await open(
    "  labels: { team: 'gpu-{{ .CommonLabels.host }}' }",
    `discord_configs: [{ webhook_url: '${service.url}', title: '{{ .RouteLabels.team }}' }]`,
  );
  const routeLabels = { team: "gpu-{{ .CommonLabels.host }}" };
  expect(await sendBy(receivers, { ...twoAlerts, routeLabels })).toBeUndefined();
  expect(service.requests[0]?.text).toContain('"title":"gpu-node-7"');
  receivers.close();
});

test("a webhook's payload holds them where there are any", async () => {
  const { receivers } = await open("", `webhook_configs: [{ url: '${service.url}' }]`);
  await sendBy(receivers, { ...twoAlerts, routeLabels: { team: "gpu" } });
  await sendBy(receivers);
  const [first, second] = service.requests.map(({ text }) => JSON.parse(text) as object);
  expect(first).toMatchObject({ routeLabels: { team: "gpu" } });
  expect(second).not.toHaveProperty("routeLabels");
  receivers.close();
});

test.each([
  ["  labels: { a-b: c }", /"a-b" in labels is not a valid label name/],
  ["  labels: [a]", /labels.* must be a mapping/],
  ["  labels: { a: '{{ .Broken' }", /labels of a route: in a template/],
])("%j is refused", async (routes, says) => {
  await expect(open(routes, "webhook_configs: []")).rejects.toThrow(says);
});
