// Creates requests for a route: its method or another, its parameters, a query, headers and a body, each valid or not.

import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";

import { compressSnappy } from "../../../src/formats/snappy/compress.ts";
import { mutate } from "../mutate.ts";
import type { MadeRequest } from "./request.ts";
import { bodiesFor, headerSeeds, parameterSeeds, querySeeds } from "./seeds.ts";

export interface FuzzRoute {
  readonly method: string;
  readonly url: string;
}

type Random = () => number;

const methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND"];
const types = [
  "application/json",
  "application/x-protobuf",
  "application/x-www-form-urlencoded",
  "application/x-gpulse-frames",
  "application/octet-stream",
  "text/plain",
  "multipart/form-data; boundary=x",
  "application/json; charset=utf-16",
  "nonsense",
  "",
];

const pick = <T>(list: readonly T[], random: Random): T =>
  list[Math.floor(random() * list.length)] as T;

const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const packings: Readonly<Record<string, (bytes: Buffer) => Uint8Array>> = {
  gzip: (bytes) => gzipSync(bytes, { level: 1 }),
  deflate: (bytes) => deflateSync(bytes, { level: 1 }),
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  snappy: (bytes) => compressSnappy(bytes),
  zstd: (bytes) => bytes,
  nonsense: (bytes) => bytes,
};

function pathOf(url: string, random: Random): string {
  const path = url.replace(/:[a-z]+|\*/gi, () => {
    const seed = pick(parameterSeeds, random);
    return random() < 0.5 ? seed : encodeURIComponent(harmed([seed], random).toString("latin1"));
  });
  // Paths that could mislead a router or a file server.
  if (random() < 0.03)
    return path + pick(["/", "//", "/..%2f..%2fetc/passwd", "%00", "/%zz"], random);
  return path;
}

const harmed = (seeds: readonly (Uint8Array | string)[], random: Random): Buffer =>
  mutate(
    seeds.map((seed) => Buffer.from(seed as Uint8Array)),
    random,
  ).subarray(0, 65_536);

function queryOf(random: Random): string {
  if (random() < 0.3) return "";
  const parts = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
    const [name, value] = pick(querySeeds, random);
    if (random() < 0.5) return `${name}=${encodeURIComponent(value)}`;
    return `${name}=${encodeURIComponent(harmed([value], random).subarray(0, 1_500).toString("latin1"))}`;
  });
  return `?${parts.join("&")}`;
}

export function makeRequest(route: FuzzRoute, token: string, random: Random): MadeRequest {
  const method = random() < 0.85 ? route.method : pick(methods, random);
  const path = `${pathOf(route.url, random)}${queryOf(random)}`.slice(0, 12_000);
  const headers = new Map([
    ["Host", "127.0.0.1"],
    ["Connection", "close"],
  ]);
  // Requests without a valid token come from another address, so that only they are throttled for guessing.
  const isTrusted = random() < 0.85;
  if (isTrusted) headers.set("Authorization", `Bearer ${token}`);
  else if (random() < 0.7)
    headers.set(
      "Authorization",
      plain(harmed(["Basic YTpi", "Token a:b", `Bearer ${token}`], random)),
    );
  for (let count = Math.floor(random() * 3); count > 0; count--) {
    const [name, value] = pick(headerSeeds, random);
    headers.set(name, random() < 0.7 ? value : plain(harmed([value], random)).slice(0, 2_000));
  }
  let body: Buffer = Buffer.alloc(0);
  if (!["GET", "HEAD"].includes(method) || random() < 0.05) {
    const [type, good] = pick(bodiesFor(route.url), random);
    headers.set("Content-Type", random() < 0.85 ? type : pick(types, random));
    const dice = random();
    body = dice < 0.3 ? Buffer.from(good as Uint8Array) : harmed([good], random);
    if (dice > 0.997) body = Buffer.alloc(1_200_000, body.length === 0 ? 0x61 : body);
    if (random() < 0.15) {
      const [name, pack] = pick(Object.entries(packings), random);
      headers.set("Content-Encoding", name);
      if (random() < 0.8) body = Buffer.from(pack(body));
    }
    if (random() < 0.002) {
      headers.set("Content-Encoding", "gzip");
      body = bomb;
    }
  }
  const from = `127.0.0.${isTrusted ? 1 : 2 + Math.floor(random() * 200)}`;
  const shown = `${method} ${path.slice(0, 200)}`;
  return { shown, from, isHead: method === "HEAD", ...framed(method, path, headers, body, random) };
}

/** Header values must not contain line ends: broken HTTP covers those separately. */
const plain = (bytes: Buffer): string =>
  bytes.toString("latin1").replace(/[^\t\x20-\x7e\x80-\xff]/g, "?");

function framed(
  method: string,
  path: string,
  headers: Map<string, string>,
  body: Buffer,
  random: Random,
): { bytes: Buffer; isBroken: boolean } {
  const dice = random();
  let rest: Uint8Array = body;
  let isBroken = false;
  if (dice < 0.06 && body.length > 0) {
    headers.set("Transfer-Encoding", "chunked");
    const half = body.length >> 1;
    const chunk = (part: Buffer): string =>
      `${part.length.toString(16)}\r\n${part.toString("latin1")}\r\n`;
    rest = Buffer.from(
      `${chunk(body.subarray(0, half))}${chunk(body.subarray(half))}0\r\n\r\n`,
      "latin1",
    );
    isBroken = half === 0;
    if (dice < 0.02) {
      isBroken = true;
      rest = pick(
        [Buffer.from("zz\r\n"), rest.subarray(0, half), Buffer.from("ffffffffffffffff\r\nx")],
        random,
      );
    }
  } else if (dice < 0.09) {
    isBroken = true;
    const length = pick(
      [String(body.length + 50), "-1", "1e9", "99999999999999999999", "0x5", "5, 6"],
      random,
    );
    headers.set("Content-Length", length);
  } else if (body.length > 0 || !["GET", "HEAD"].includes(method)) {
    headers.set("Content-Length", String(body.length));
  }
  if (dice > 0.985) {
    isBroken = true;
    headers.set(
      pick(["X Y", "Bad\r\nInjected", "Content-Length", "Host", ""], random),
      pick(["1\r\n2", "\0", "a".repeat(20_000)], random),
    );
  }
  const version =
    dice > 0.97 && dice < 0.98
      ? pick(["HTTP/1.0", "HTTP/9.9", "", "HTTP/2.0"], random)
      : "HTTP/1.1";
  if (version !== "HTTP/1.1") isBroken = true;
  const head = `${method} ${path} ${version}\r\n${[...headers].map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return { bytes: Buffer.concat([Buffer.from(head, "latin1"), rest]), isBroken };
}
