// Valid requests to start from, as well-behaved clients send them to each endpoint. A route without its own seeds gets all of them.

import { packRun } from "../../../src/runs/file/file.ts";
import { fixtureRun } from "../../fixtures/runs/runs.ts";
import { compressSnappy } from "../../../src/formats/snappy/compress.ts";
import { targets as files } from "../targets/files.ts";
import { targets as wire } from "../targets/wire.ts";

type Body = readonly [type: string, body: Uint8Array | string];

const seedsOf = (name: string): readonly (Uint8Array | string)[] =>
  [...wire, ...files].find((target) => target.name === name)?.seeds ?? [];

const json = (body: unknown): Body => ["application/json", JSON.stringify(body)];
const of = (type: string, name: string): Body[] => seedsOf(name).map((seed): Body => [type, seed]);

const form: Body = [
  "application/x-www-form-urlencoded",
  "query=sum(up)&start=1790000000&end=1790000600&step=15&match[]=up",
];
const run = (await packRun(fixtureRun({ seconds: 1, samplingMs: 500 }))).bytes;
const alert = {
  labels: { alertname: "Hot", severity: "page" },
  annotations: { summary: "hot" },
  startsAt: "2026-01-02T12:00:00Z",
  generatorURL: "http://127.0.0.1/",
};

const bodies: Readonly<Record<string, readonly Body[]>> = {
  "/api/v1/write": [
    ...seedsOf("remote-write-1").map((seed): Body => [
      "application/x-protobuf",
      compressSnappy(Buffer.from(seed as Uint8Array)),
    ]),
    ...seedsOf("remote-write-2").map((seed): Body => [
      "application/x-protobuf;proto=io.prometheus.write.v2.Request",
      compressSnappy(Buffer.from(seed as Uint8Array)),
    ]),
  ],
  "/api/v1/otlp/v1/metrics": [
    ...of("application/x-protobuf", "otlp-protobuf"),
    ...of("application/json", "otlp-json"),
  ],
  "/v1/metrics": [
    ...of("application/x-protobuf", "otlp-protobuf"),
    ...of("application/json", "otlp-json"),
  ],
  "/write": of("text/plain", "influx-line"),
  "/api/v2/write": of("text/plain", "influx-line"),
  "/push": of("application/json", "json-push"),
  "/api/push/v1": of("application/x-gpulse-frames", "frames-request"),
  "/api/v2/alerts": [json([alert])],
  "/api/v2/silences": [
    json({
      matchers: [{ name: "alertname", value: "Hot", isRegex: false, isEqual: true }],
      startsAt: "2026-01-02T12:00:00Z",
      endsAt: "2099-01-02T13:00:00Z",
      createdBy: "me",
      comment: "for a while",
    }),
  ],
  "/alert": of("application/json", "webhook-and-records"),
  "/api/events": [json({ kind: "note", title: "restart", host: "lab", timeMs: 1_790_000_000_000 })],
  "/api/snapshots": of("application/json", "snapshot-json"),
  "/api/runs": [["application/octet-stream", run]],
  "/api/import": [
    ["text/csv", "__name__,time,value,a\nx,2026-01-02T12:00:00Z,1.5,b\n"],
    ["text/plain", "# TYPE x gauge\nx 1\n"],
    ["application/octet-stream", run],
  ],
  // An unknown source: the fuzzer must not start programs.
  "/api/pipes": [
    json({ name: "a", from: "nowhere:", to: ["nowhere:"], options: { speed: "max" } }),
  ],
  "/api/tokens": [json({ name: "fuzz", scope: "read", expires: "1h" })],
  "/api/users": [json({ name: "fuzz", scope: "read", password: "a long enough password" })],
  "/api/users/:name": [json({ scope: "read" })],
  "/api/shares": [json({ name: "fuzz", page: "/fleet", expires: "1h" })],
  "/api/share": [json({ secret: "abc" })],
  "/api/login": [
    json({ user: "a", password: "b" }),
    ["application/x-www-form-urlencoded", "token=abc"],
  ],
  "/api/me/password": [json({ old: "a", new: "a long enough password" })],
  "/api/alerts/test": [json({ receiver: "default" })],
  "/api/analytics/:name": [json({ from: "-1h", to: "now" })],
};

const anything: readonly Body[] = [
  form,
  json({}),
  json([]),
  json(null),
  json("text"),
  json(1),
  ["text/plain", "x"],
];

export const bodiesFor = (url: string): readonly Body[] => {
  const own = bodies[url];
  return own === undefined ? anything : [...own, ...own, ...own, ...anything];
};

/** Every route with its own body seeds, to detect routes whose address has changed. */
export const namedRoutes = Object.keys(bodies);

export const parameterSeeds = [
  "GPU-a",
  "up",
  "__name__",
  "idle",
  "00000000-0000-4000-8000-000000000000",
  "..",
  "%2e%2e%2f",
  "a".repeat(199),
  "a".repeat(400),
  "constructor",
  "__proto__",
  "-1",
  "%F0%9F%94%A5",
];

export const querySeeds: readonly (readonly [string, string])[] = [
  ["query", 'sum by (host) (rate(gpu_energy_joules_total{uuid=~"GPU-.+"}[5m]))'],
  ["query", "avg_over_time((up or vector(1))[1h:1m] @ end())"],
  ["query", 'label_replace(up, "a", "$1", "job", "(.*)")'],
  ["query", "histogram_quantile(0.9, x_bucket) > bool 1"],
  ["q", 'SHOW DATABASES; CREATE DATABASE "x"'],
  ["start", "1790000000"],
  ["end", "1790003600"],
  ["time", "2026-01-02T12:00:00Z"],
  ["step", "15s"],
  ["timeout", "1ms"],
  ["limit", "10"],
  ["match[]", '{__name__=~"gpu_.*",host!=""}'],
  ["filter", 'severity=~"page|warn"'],
  ["from", "-1h"],
  ["to", "now"],
  ["db", "x"],
  ["precision", "ms"],
  ["bucket", "b"],
  ["org", "o"],
  ["gpu", "GPU-a@-24h"],
  ["run", "fixture"],
  ["format", "csv"],
  ["kind", "alert"],
  ["before", "1790000000000"],
  ["state", "active"],
  ["stats", "all"],
  ["type", "alert"],
  ["rule", "Hot"],
  ["name", "fuzz"],
  ["next", "//evil.example/"],
  ["a", "b"],
  ["c", "d"],
];

export const headerSeeds: readonly (readonly [string, string])[] = [
  ["Accept", "application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"],
  ["Accept-Encoding", "gzip, br;q=0"],
  ["Cookie", "gpulse_session=abcdefghijabcdefghijabcdefghijabcdefghijabc; a=b"],
  ["Origin", "http://evil.example"],
  ["Sec-Fetch-Site", "cross-site"],
  ["Host", "evil.example"],
  ["X-Forwarded-For", "1.2.3.4, 5.6.7.8"],
  ["X-Forwarded-Prefix", "/gpulse/../.."],
  ["X-Prometheus-Remote-Write-Version", "2.0.0"],
  ["If-None-Match", 'W/"abc"'],
  ["If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"],
  ["Range", "bytes=0-1,5-"],
  ["Expect", "100-continue"],
  ["Upgrade", "h2c"],
  ["Referer", "http://127.0.0.1/"],
  ["User-Agent", "fuzz"],
  ["Last-Event-ID", "1"],
];
