/** Attacks of one request each: the request, and the status that refuses it. */
import { gzipSync } from "node:zlib";
import type { AttackLab } from "./lab.ts";
import { get, raw, type RawResponse, send } from "./raw.ts";
import { traceBomb, zipBomb, zipOf } from "./run-bombs.ts";

/** Set before any attack runs; the table is built earlier. */
let lab: AttackLab;
export function attack(opened: AttackLab): void {
  lab = opened;
}

type Role = "push" | "read" | "admin";
export const as = (role: Role): string[] => [`Authorization: Bearer ${lab.hub.tokens[role]}`];
export const hubGet = (target: string, headers: readonly string[] = []) =>
  get(lab.hub.port, target, headers);
const hubSend = (
  method: string,
  target: string,
  body: Buffer | string,
  headers: readonly string[] = [],
) => send(lab.hub.port, method, target, body, headers);
const query = (text: string) =>
  hubSend("POST", "/api/v1/query", `query=${encodeURIComponent(text)}`, [
    ...as("read"),
    "Content-Type: application/x-www-form-urlencoded",
  ]);
const nested = (times: number, wrap: (text: string) => string, text: string): string =>
  Array.from({ length: times }).reduce<string>((inner) => wrap(inner), text);

export type Attack = readonly [
  name: string,
  attack: () => Promise<RawResponse>,
  status: number | readonly number[],
  says?: string,
];

export const forged = `gpulse_admin_${"A".repeat(43)}`;
const bomb = (megabytes: number): Buffer => gzipSync(Buffer.alloc(megabytes * 1024 * 1024));

const whoAreYou: Attack[] = [
  ["reading without a token", () => hubGet("/api/v1/query?query=1"), 401],
  ["reading the page's data without a token", () => hubGet("/api/fleet"), 401],
  ["the live stream without a token", () => hubGet("/api/live"), 401],
  ["metrics without a token", () => hubGet("/metrics"), 401],
  ["a token that was made up", () => hubGet("/metrics", [`Authorization: Bearer ${forged}`]), 401],
  ["a token in the URL", () => hubGet(`/metrics?token=${lab.hub.tokens.read}`), 401],
  ["a token as a cookie", () => hubGet("/metrics", [`Cookie: gpulse=${lab.hub.tokens.read}`]), 401],
  ["an empty password", () => hubGet("/metrics", ["Authorization: Basic Og=="]), 401],
  ["a push token that reads", () => hubGet("/api/v1/query?query=1", as("push")), 403],
  ["a read token that writes", () => hubSend("POST", "/write", "x v=1", as("read")), 403],
  [
    "a read token that deletes",
    () => hubSend("POST", "/api/v1/admin/tsdb/delete_series?match[]=x", "", as("read")),
    403,
  ],
  ["a read token that makes tokens", () => hubSend("POST", "/api/tokens", "{}", as("read")), 403],
  ["a read token that reads the audit log", () => hubGet("/api/audit", as("read")), 403],
  ["a push token that makes a pipe", () => hubSend("POST", "/api/pipes", "{}", as("push")), 403],
  ["a read token that reloads", () => hubSend("POST", "/-/reload", "", as("read")), 403],
  ["a path in capitals around the guard", () => hubGet("/API/v1/query?query=1"), 401],
  ["a path with two slashes around the guard", () => hubGet("//api/v1/query?query=1"), 401],
  ["a path with dots around the guard", () => hubGet("/-/healthy/../../metrics"), 401],
  ["an encoded path around the guard", () => hubGet("/%2d/healthy/%2e%2e/metrics"), [401, 404]],
  [
    "a header that claims another address",
    () => hubGet("/metrics", ["X-Forwarded-For: 127.0.0.1"]),
    401,
  ],
  [
    "a header that claims another path",
    () => hubGet("/-/healthy/x", ["X-Original-URL: /metrics"]),
    [401, 404],
  ],
  [
    "a header that claims another method",
    () => hubGet("/api/tokens/a", [...as("read"), "X-HTTP-Method-Override: DELETE"]),
    [403, 404],
  ],
];

const browser: Attack[] = [
  [
    "a name that was rebound to loopback",
    () => hubGet("/metrics", ["Host: evil.example", ...as("read")]),
    421,
  ],
  [
    "a rebound name with our port",
    () => hubGet("/metrics", [`Host: evil.example:${lab.hub.port}`, ...as("read")]),
    421,
  ],
  [
    "a name that only begins with ours",
    () => hubGet("/metrics", ["Host: 127.0.0.1.evil.example", ...as("read")]),
    421,
  ],
  [
    "no name at all",
    () => raw(lab.hub.port, "GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n"),
    [400, 421],
  ],
  ["two names", () => hubGet("/metrics", ["Host: 127.0.0.1", "Host: evil.example"]), [400, 421]],
  [
    "a form of another site",
    () => hubSend("POST", "/-/reload", "", [...as("admin"), "Origin: https://evil.example"]),
    403,
  ],
  [
    "a form of another port",
    () => hubSend("POST", "/-/reload", "", [...as("admin"), "Origin: http://127.0.0.1:1"]),
    403,
  ],
  [
    "a form of a sandboxed frame",
    () => hubSend("POST", "/-/reload", "", [...as("admin"), "Origin: null"]),
    403,
  ],
  [
    "a form the browser calls cross-site",
    () => hubSend("POST", "/api/login", "token=x", ["Sec-Fetch-Site: cross-site"]),
    403,
  ],
  [
    "a login that sends elsewhere afterwards",
    () =>
      hubSend(
        "POST",
        "/api/login?next=https://evil.example",
        `token=${lab.hub.tokens.read}&next=//evil.example`,
        ["Content-Type: application/x-www-form-urlencoded"],
      ),
    303,
    "ocation: ../",
  ],
];

const paths: Attack[] = [
  ["a file above the page", () => hubGet("/../../../../etc/passwd", as("read")), [400, 403, 404]],
  [
    "the same, encoded",
    () => hubGet("/%2e%2e/%2e%2e/%2e%2e/etc/passwd", as("read")),
    [400, 403, 404],
  ],
  [
    "the same, encoded twice",
    () => hubGet("/%252e%252e/%252e%252e/etc/passwd", as("read")),
    [400, 403, 404],
  ],
  [
    "the same with backslashes",
    () => hubGet("/..%5c..%5cetc%5cpasswd", as("read")),
    [400, 403, 404],
  ],
  [
    "a file below the page's folder by a NUL",
    () => hubGet("/index.html%00.js", as("read")),
    [400, 403, 404],
  ],
  [
    "a run above its folder",
    () => hubGet("/api/runs/..%2f..%2faccess%2ftokens.state/file", as("read")),
    [400, 403, 404],
  ],
  [
    "a snapshot above its folder",
    () => hubGet("/api/snapshots/..%2f..%2faccess%2ftokens.state", as("read")),
    [400, 403, 404],
  ],
  [
    "deleting a run above its folder",
    () => hubSend("DELETE", "/api/runs/..%2f..%2faccess", "", as("admin")),
    [400, 403, 404],
  ],
  [
    "a name of 10,000 letters",
    () => hubGet(`/api/runs/${"a".repeat(10_000)}`, as("read")),
    [400, 403, 404, 414],
  ],
];

const sendRun = (bytes: Buffer): Promise<RawResponse> =>
  hubSend("POST", "/api/runs", bytes, [...as("push"), "Content-Type: application/zip"]);

const sizes: Attack[] = [
  ["a header of 64 KB", () => hubGet("/metrics", [`X-Long: ${"a".repeat(65_536)}`]), 431],
  ["a URL of 64 KB", () => hubGet(`/metrics?${"a".repeat(65_536)}`), 431],
  ["ten thousand headers", () => hubGet("/metrics", Array<string>(10_000).fill("X: y")), 431],
  [
    "a body larger than the route takes",
    () => hubSend("POST", "/api/tokens", `{"name":"${"a".repeat(100_000)}"}`, as("admin")),
    413,
  ],
  [
    "a body that is said to be endless",
    () =>
      raw(
        lab.hub.port,
        `POST /api/v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\n${as("push").join("")}\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n`,
      ),
    413,
  ],
  [
    "a gzip bomb of samples",
    () =>
      hubSend("POST", "/api/v1/otlp/v1/metrics", bomb(40), [
        ...as("push"),
        "Content-Type: application/x-protobuf",
        "Content-Encoding: gzip",
      ]),
    [400, 413],
  ],
  [
    "a gzip bomb of lines",
    () =>
      hubSend("POST", "/write", bomb(40), [
        ...as("push"),
        "Content-Encoding: gzip",
        "Content-Type: text/plain",
      ]),
    [400, 413],
  ],
  [
    "a snappy block that says it is 4 GB",
    () =>
      hubSend("POST", "/api/v1/write", Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0x00]), [
        ...as("push"),
        "Content-Encoding: snappy",
        "Content-Type: application/x-protobuf",
      ]),
    [400, 413],
  ],
  [
    "a run that is no run",
    () => hubSend("POST", "/api/runs", bomb(50), [...as("push"), "Content-Type: application/zip"]),
    400,
  ],
  ["a run that says it is 1 GiB", () => sendRun(zipBomb(2 ** 30)), 400, "unpacks to more"],
  ["a run that is more than it says", () => sendRun(zipBomb(10)), 400],
  [
    "a run whose trace has a page of thousands of readings in three bytes",
    async () => sendRun(await traceBomb()),
    400,
    "run longer than its page",
  ],
  ["a run of ten thousand entries", () => sendRun(zipOf(10_000)), 400, "entries"],
  [
    "a log that is a gzip bomb",
    () =>
      hubSend("POST", "/api/import?name=log.txt", bomb(40), [
        ...as("admin"),
        "Content-Type: application/octet-stream",
        "Content-Encoding: gzip",
      ]),
    400,
    "is unknown",
  ],
  [
    "a log of one line without an end",
    () =>
      hubSend(
        "POST",
        "/api/import?name=log.txt",
        `Date , GPU Clock [MHz] ,${"9".repeat(8_000_000)}`,
        [...as("admin"), "Content-Type: application/octet-stream"],
      ),
    [200, 400],
  ],
  [
    "JSON that nests 1,500 deep",
    () => hubSend("POST", "/api/tokens", "[".repeat(1_500) + "]".repeat(1_500), as("admin")),
    400,
  ],
  [
    "JSON that reaches for a prototype",
    () => hubSend("POST", "/api/tokens", '{"__proto__":{"scope":"admin"},"name":"x"}', as("admin")),
    400,
  ],
  [
    "JSON that reaches for a constructor",
    () =>
      hubSend(
        "POST",
        "/api/tokens",
        '{"constructor":{"prototype":{"scope":"admin"}},"name":"x"}',
        as("admin"),
      ),
    400,
  ],
  ["JSON that is none", () => hubSend("POST", "/api/tokens", "{", as("admin")), 400],
  [
    "a body of a kind nobody takes",
    () => hubSend("POST", "/api/tokens", "<x/>", [...as("admin"), "Content-Type: text/xml"]),
    415,
  ],
];

const queries: Attack[] = [
  ["a query of 300,000 letters", () => query("x".repeat(300_000)), 400],
  ["a query that nests too deep", () => query(nested(2_000, (text) => `(${text})`, "x")), 400],
  [
    "a label that doubles itself",
    () =>
      query(
        nested(
          40,
          (text) => `label_replace(${text}, "a", "$1$1", "a", "(.*)")`,
          'label_replace(vector(1), "a", "xxxxxxxx", "", "")',
        ),
      ),
    422,
  ],
  [
    "a subquery of ten years by the millisecond",
    () => query("max_over_time(vector(1)[10y:1ms])"),
    422,
  ],
  ["a regex that multiplies its repetitions", () => query('x{a=~"((a{100}){100}){100}"}'), 400],
  [
    "a range of too many points",
    () => hubGet("/api/v1/query_range?query=1&start=0&end=1700000000&step=1", as("read")),
    400,
  ],
  [
    "all series at once, by a matcher that matches all",
    () => hubGet("/api/v1/series?match[]={__name__=~%22.*%22}", as("read")),
    400,
  ],
];

const protocol: Attack[] = [
  [
    "two lengths of one body",
    () =>
      raw(
        lab.hub.port,
        `POST /-/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\nGET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
      ),
    400,
  ],
  [
    "a length and chunks",
    () =>
      raw(
        lab.hub.port,
        `POST /-/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
      ),
    400,
  ],
  [
    "chunks by another name",
    () =>
      raw(
        lab.hub.port,
        `POST /-/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: xchunked\r\nConnection: close\r\n\r\n0\r\n\r\n`,
      ),
    [400, 401, 501],
  ],
  [
    "a space before a colon",
    () => raw(lab.hub.port, `GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n`),
    400,
  ],
  [
    "a header folded over lines",
    () =>
      raw(
        lab.hub.port,
        `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n b\r\nTransfer-Encoding\r\n : chunked\r\n\r\n`,
      ),
    400,
  ],
  [
    "a line break within a URL",
    () => raw(lab.hub.port, `GET /\rX-Injected: 1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`),
    400,
  ],
  [
    "TRACE, which would echo a cookie",
    () => get(lab.hub.port, "/", as("admin"), "TRACE"),
    [404, 405, 501],
  ],
  [
    "CONNECT, to use it as a proxy",
    () => get(lab.hub.port, `127.0.0.1:${lab.bait.port}`, as("admin"), "CONNECT"),
    [0, 400, 404, 405],
  ],
  [
    "another host's URL, to use it as a proxy",
    () => hubGet(`http://127.0.0.1:${lab.bait.port}/`, as("read")),
    [200, 400, 403, 404, 421],
  ],
  ["a method nobody knows", () => get(lab.hub.port, "/", as("admin"), "PROPFIND"), [404, 405]],
  [
    "an upgrade to another protocol",
    () => hubGet("/api/live", ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"]),
    401,
  ],
];

let pipes = 0;
const outbound = (to: string): Promise<RawResponse> =>
  send(
    lab.open.port,
    "POST",
    "/api/pipes",
    JSON.stringify({ name: `p${pipes++}`, kind: "pipe", from: ["sim:1"], to: [to], options: {} }),
    [`Authorization: Bearer ${lab.open.tokens.admin}`],
  );
const inside: Attack[] = [
  [
    "a pipe to a service of this machine",
    () => outbound(`remote-write+http://127.0.0.1:${lab.bait.port}/`),
    400,
    "is blocked",
  ],
  [
    "the same by name",
    () => outbound(`remote-write+http://localhost:${lab.bait.port}/`),
    400,
    "is blocked",
  ],
  [
    "the same in decimal",
    () => outbound(`remote-write+http://2130706433:${lab.bait.port}/`),
    400,
    "is blocked",
  ],
  [
    "the same as IPv6",
    () => outbound(`remote-write+http://[::ffff:127.0.0.1]:${lab.bait.port}/`),
    400,
    "is blocked",
  ],
  [
    "the same behind a user name",
    () => outbound(`remote-write+http://example.com@127.0.0.1:${lab.bait.port}/`),
    400,
    "is blocked",
  ],
  [
    "a pipe to a private network",
    () => outbound("remote-write+http://10.0.0.1:9090/"),
    400,
    "is blocked",
  ],
  [
    "a pipe to the cloud's metadata",
    () => outbound("remote-write+http://169.254.169.254/latest/"),
    400,
    "metadata",
  ],
  [
    "a broker of a private network",
    () => outbound("kafka://192.168.0.1:9092/topic"),
    400,
    "is blocked",
  ],
  ["a pipe that starts a program", () => outbound("stdout:"), 400],
];

const agent: Attack[] = [
  ["writing to the agent", () => send(lab.agent.port, "POST", "/metrics", "x"), 405],
  ["a file of the agent's machine", () => get(lab.agent.port, "/../../etc/passwd"), 404],
  ["a property of the agent's table of routes", () => get(lab.agent.port, "__proto__"), [400, 404]],
  [
    "a header of 64 KB to the agent",
    () => get(lab.agent.port, "/metrics", [`X: ${"a".repeat(65_536)}`]),
    431,
  ],
  [
    "chunks and a length to the agent",
    () =>
      raw(
        lab.agent.port,
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      ),
    400,
  ],
];

export const everyAttack: readonly Attack[] = [
  ...whoAreYou,
  ...browser,
  ...paths,
  ...sizes,
  ...queries,
  ...protocol,
  ...inside,
  ...agent,
];
