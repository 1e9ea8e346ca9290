// Valid and invalid requests to Alertmanager's API, on a real Alertmanager and the built hub: the same statuses and
// bodies.

import { afterAll, beforeAll, expect, test } from "vitest";

import { findTool } from "../../engines/tools.ts";
import {
  type AlertmanagerPair,
  plain,
  type Side,
  startAlertmanagerPair,
} from "./alertmanager-pair.ts";

const found = findTool("alertmanager");
const missing = "missing" in found ? found.missing : "";
let pair: AlertmanagerPair;

beforeAll(async () => {
  if ("path" in found)
    pair = await startAlertmanagerPair({
      alertmanager: found.path,
      config: () => `
route: { receiver: all, group_by: [alertname], routes: [{ receiver: other, matchers: [severity="info"] }] }
receivers: [{ name: all }, { name: other }]
inhibit_rules: [{ source_matchers: [alertname="HostDown"], target_matchers: ['alertname!="HostDown"'], equal: [host] }]
`,
    });
});
afterAll(async () => pair?.stop());

const hour = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
let silences = 0;
/** Unique end times: Alertmanager sorts by them, and the order of equal ones is undefined. */
const silence = (more: Record<string, unknown>) => ({
  matchers: [{ name: "a", value: "b", isRegex: false }],
  createdBy: "me",
  comment: "x",
  startsAt: hour(0),
  endsAt: hour(1 + silences++ / 100),
  ...more,
});
const matcher = (more: Record<string, unknown>) => [
  { name: "a", value: "b", isRegex: false, ...more },
];
type Request = readonly [method: string, route: string, body?: unknown];

/** In this order, because later requests see earlier ones. A string body is sent as it is. */
const requests: readonly Request[] = [
  ["GET", "/alerts"],
  ["GET", "/alerts/groups"],
  ["GET", "/receivers"],
  ["GET", "/silences"],
  ["POST", "/alerts", []],
  ["POST", "/alerts", ""],
  ["POST", "/alerts", [{}]],
  ["POST", "/alerts", [{ labels: {} }]],
  ["POST", "/alerts", [{ labels: { a: "" } }]],
  ["POST", "/alerts", [{ labels: { "a-b": "c" } }]],
  ["POST", "/alerts", [{ labels: { "a\n": "c" } }]],
  ["POST", "/alerts", [{ labels: { a: "c" }, annotations: { "x-y": "z" } }]],
  ["POST", "/alerts", [{ labels: { a: "c" }, startsAt: hour(2), endsAt: hour(1) }]],
  ["POST", "/alerts", [{ labels: { a: "c" }, generatorURL: "::::" }]],
  ["POST", "/alerts", [{ labels: { a: "c" }, generatorURL: "x/y" }]],
  ["POST", "/alerts", [{ labels: { alertname: "good" } }, { labels: { "": "c" } }, { labels: {} }]],
  [
    "POST",
    "/alerts",
    [
      { labels: { host: "h", alertname: "HostDown" } },
      {
        labels: { severity: "info", alertname: "GPU", host: "h", a: "b" },
        annotations: { summary: "s" },
        generatorURL: "http://x/y",
        endsAt: hour(1),
        unknown: 1,
      },
      { labels: { alertname: "ended" }, endsAt: "2020-01-01T00:00:00Z" },
      { labels: { alertname: "zero" }, startsAt: "0001-01-01T00:00:00.000Z" },
    ],
  ],
  ...[
    "",
    "?filter=alertname%3Dgood",
    "?filter=b-d",
    "?filter=a%3D~%22(%22",
    "?filter=a%21%3D%22%22",
    "?filter=zz%3D%22%22",
    "?filter=alertname%3D~%22G.*%22&filter=host%3Dh",
    "?receiver=(",
    "?receiver=o.*",
    "?active=nope&silenced=x",
    "?active=false",
    "?inhibited=false",
    "?unprocessed=false",
  ].flatMap((query): Request[] => [
    ["GET", `/alerts${query}`],
    ["GET", `/alerts/groups${query}`],
  ]),
  ["POST", "/silences", ""],
  ["POST", "/silences", {}],
  ["POST", "/silences", silence({})],
  ["POST", "/silences", silence({ startsAt: hour(-2), endsAt: hour(-1) })],
  ["POST", "/silences", silence({ startsAt: hour(2) })],
  ["POST", "/silences", silence({ endsAt: undefined })],
  ["POST", "/silences", silence({ startsAt: undefined })],
  ["POST", "/silences", silence({ id: "nope" })],
  ["POST", "/silences", silence({ matchers: [] })],
  ["POST", "/silences", silence({ matchers: undefined })],
  ["POST", "/silences", silence({ matchers: [{ name: "a" }] })],
  ["POST", "/silences", silence({ createdBy: undefined })],
  ["POST", "/silences", silence({ comment: undefined })],
  ["POST", "/silences", silence({ createdBy: "", comment: "" })],
  ["POST", "/silences", silence({ matchers: matcher({ value: "" }) })],
  ["POST", "/silences", silence({ matchers: matcher({ value: "(", isRegex: true }) })],
  [
    "POST",
    "/silences",
    silence({
      matchers: matcher({ isEqual: false, value: "none" }),
      startsAt: hour(1),
      endsAt: hour(3),
    }),
  ],
  ...["", "?filter=a%3Db", "?filter=b", "?filter=a%3D~b"].map((query): Request => [
    "GET",
    `/silences${query}`,
  ]),
  ["GET", "/alerts"],
  ["GET", "/alerts?silenced=false"],
  ["GET", "/alerts/groups?silenced=false"],
  ["GET", "/silence/xx"],
  ["DELETE", "/silence/xx"],
  ["GET", "/silence/3b1d1c1e-0000-4000-8000-000000000000"],
  ["DELETE", "/silence/3b1d1c1e-0000-4000-8000-000000000000"],
];

async function answerOf(side: Side, [method, route, body]: Request): Promise<unknown> {
  const response = await fetch(`${pair.url(side)}/api/v2${route}`, {
    method,
    ...(body === undefined
      ? {}
      : {
          body: typeof body === "string" ? body : JSON.stringify(body),
          headers: { "content-type": "application/json" },
        }),
  });
  const type = (response.headers.get("content-type") ?? "").split(";")[0];
  const text = plain(await response.text());
  return { status: response.status, type, body: text === "" ? "" : (JSON.parse(text) as unknown) };
}

test("every request is answered alike", async (context) => {
  if (missing !== "") context.skip(missing);
  for (const request of requests) {
    const [theirs, ours] = [
      await answerOf("alertmanager", request),
      await answerOf("hub", request),
    ];
    expect({ request, answer: ours }).toEqual({ request, answer: theirs });
  }
});

// Go's JSON reader has its own error texts, so only their meaning is compared.
const unreadable: readonly Request[] = [
  ["POST", "/alerts", "{"],
  ["POST", "/alerts", {}],
  ["POST", "/alerts", [{ labels: { a: 1 } }]],
  ["POST", "/alerts", [{ labels: { a: "c" }, annotations: { x: 1 } }]],
  ["POST", "/alerts", [{ labels: { a: "c" }, startsAt: "yesterday" }]],
  ["POST", "/alerts", [{ labels: { a: "c" }, startsAt: 5 }]],
  ["POST", "/silences", "["],
  ["POST", "/silences", []],
  ["POST", "/silences", silence({ matchers: matcher({ isRegex: "yes" }) })],
];

test.for(unreadable.map((request) => ({ request })))(
  "$request is refused alike",
  async ({ request }, context) => {
    if (missing !== "") context.skip(missing);
    const words = async (side: Side): Promise<string> =>
      JSON.stringify(await answerOf(side, request)).replace(/because .*/, "");
    expect(await words("hub")).toBe(await words("alertmanager"));
  },
);
