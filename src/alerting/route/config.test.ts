import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseRouting, type Route } from "./config.ts";
import { everyRoute, routesFor } from "./tree.ts";

const folder = new URL("testdata/", import.meta.url);
const read = async (name: string) =>
  parseRouting(readFileSync(new URL(name, folder), "utf8"), name);
const files = readdirSync(folder);

test.each(files.filter((name) => name.endsWith(".good.yml")))("%s is taken", async (name) => {
  const { route, receivers } = await read(name);
  expect(receivers.map((receiver) => receiver.name)).toContain(route.receiver);
});

const said: Readonly<Record<string, RegExp>> = {
  "no-route": /"route" is missing/,
  empty: /"route" is missing/,
  "no-receiver": /the root route has no receiver/,
  "unknown-receiver": /names the undefined receiver "b"/,
  "receiver-twice": /duplicate receiver "a"/,
  "root-matchers": /root route must not have matchers/,
  "root-times": /root route must not have time intervals/,
  "unknown-interval": /the undefined time interval "t"/,
  "unknown-key": /unknown key "route\.grup_by"\. Did you mean "group_by"\?/,
  "group-by-all-and-more": /group_by takes "\.\.\."/,
  "group-by-name": /"" in group_by is not a valid label name/,
  "root-continue": /root route must not have continue/,
  "group-interval-zero": /group_interval above zero/,
  "duration-bare": /must be a duration such as 15s or 1m30s, not "30"/,
  "matcher-broken": /bad matcher format: x/,
  "matcher-regex": /missing closing \)/,
  "resolve-timeout": /must be a duration/,
  weekday: /"mon" in a time interval must be a day such as monday:friday/,
  location: /"Nowhere\/Land" in a time interval must be a time zone/,
};

test.each(files.filter((name) => name.endsWith(".bad.yml")))("%s is refused", async (name) => {
  const words = said[name.replace(".bad.yml", "")] ?? /./;
  await expect(read(name)).rejects.toThrow(words);
  await expect(read(name)).rejects.toThrow(new RegExp(`^${name}`));
});

const receiversOf = (root: Route, labels: Record<string, string>): string[] =>
  routesFor(root, new Map(Object.entries(labels))).map(({ receiver }) => receiver);

// The output of `amtool config routes test` for the same file.
test.each([
  [{ service: "foo1" }, ["team-X-mails"]],
  [{ service: "foo1", severity: "critical" }, ["team-X-pager"]],
  [{ service: "files", severity: "critical" }, ["team-Y-pager"]],
  [{ service: "database" }, ["team-DB-pager"]],
  [{ service: "cache", owner: "team-X" }, ["team-X-pager"]],
  [{ service: "databases" }, ["team-X-mails"]],
  [{}, ["team-X-mails"]],
])("alert %j goes to %j", async (labels, receivers) =>
  expect(receiversOf((await read("teams.good.yml")).route, labels)).toEqual(receivers),
);

test("routes are named by their matchers in Alertmanager's words, and distinguished where those are the same", async () => {
  const twice = `{receiver: a, matchers: ['b="x\\"y"', 'a=~"z"'], continue: true}`;
  const { route } = await parseRouting(
    `{route: {receiver: a, routes: [${twice}, ${twice}]}, receivers: [{name: a}]}`,
    "f",
  );
  expect(everyRoute(route).map(({ key }) => key)).toEqual([
    "{}",
    '{}/{a=~"z",b="x\\"y"}',
    '{}/{a=~"z",b="x\\"y"}',
  ]);
  expect(new Set(everyRoute(route).map(({ id }) => id)).size).toBe(3);
});

test("alerts are grouped and inhibited by UTF-8 label names too", async () => {
  const { route, inhibitRules } = await parseRouting(
    "{route: {receiver: a, group_by: [service.name, a-b]}, receivers: [{name: a}], inhibit_rules: [{source_matchers: [a=b], equal: [service.name]}]}",
    "f",
  );
  expect(route.groupBy).toEqual(new Set(["service.name", "a-b"]));
  expect(inhibitRules[0]?.equal).toEqual(["service.name"]);
});

test("what a route does not say it takes from the one above, an empty group_by and receiver too", async () => {
  const { route } = await read("times.good.yml");
  expect(route).toMatchObject({
    groupBy: new Set(),
    groupWaitMs: 30_000,
    groupIntervalMs: 300_000,
    repeatIntervalMs: 14_400_000,
  });
  expect(route.routes.map(({ receiver, groupBy }) => [receiver, groupBy])).toEqual([
    ["day", new Set()],
    ["all", undefined],
  ]);
  const anchors = await read("anchors.good.yml");
  expect(anchors.route).toMatchObject({ groupWaitMs: 0, groupIntervalMs: 90_000 });
  expect(anchors.route.routes[0]).toMatchObject({
    groupBy: new Set(["alertname"]),
    continues: true,
    repeatIntervalMs: 604_800_000,
  });
});

test("a dot in a pattern matches no end of a line, and a pattern matches the whole value", async () => {
  const { route } = await parseRouting(
    "{route: {receiver: a, routes: [{receiver: b, matchers: ['x=~\"a.b\"']}]}, receivers: [{name: a}, {name: b}]}",
    "f",
  );
  expect(receiversOf(route, { x: "a-b" })).toEqual(["b"]);
  expect(receiversOf(route, { x: "a\nb" })).toEqual(["a"]);
  expect(receiversOf(route, { x: "xa-b" })).toEqual(["a"]);
});
