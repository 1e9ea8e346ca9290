import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../../../base/log.ts";
import type { DnsDiscovery } from "../config/types.ts";
import { emitted } from "../../../../test/fixtures/sources/scrape.ts";
import { dnsDiscovery, parseSearchList } from "./dns.ts";

const ends: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const types = { A: 1, NS: 2, MX: 15, AAAA: 28, SRV: 33 } as const;
type Zone = Readonly<Record<string, Readonly<Partial<Record<keyof typeof types, Buffer[]>>>>>;

const wireName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((part) => Buffer.from([part.length, ...Buffer.from(part)])),
    Buffer.of(0),
  ]);
const srv = (host: string, port: number): Buffer =>
  Buffer.concat([Buffer.of(0, 1, 0, 1, port >> 8, port & 255), wireName(host)]);
const mx = (host: string): Buffer => Buffer.concat([Buffer.of(0, 10), wireName(host)]);

/** A name server for one zone. A response contains the header, the question, and one record per answer. */
async function nameServer(zone: Zone): Promise<string> {
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    let at = 12;
    const parts: string[] = [];
    while ((query[at] ?? 0) !== 0) {
      const length = query[at] ?? 0;
      parts.push(query.toString("latin1", at + 1, at + 1 + length));
      at += length + 1;
    }
    const question = query.subarray(12, at + 5);
    const known = zone[parts.join(".").toLowerCase()];
    const wanted = query.readUInt16BE(at + 1);
    const kind = (Object.keys(types) as (keyof typeof types)[]).find(
      (name) => types[name] === wanted,
    );
    const records = (kind === undefined ? undefined : known?.[kind]) ?? [];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    const answers = records.map((data) => {
      const head = Buffer.alloc(12);
      head.writeUInt16BE(0xc00c, 0);
      head.writeUInt16BE(wanted, 2);
      head.writeUInt16BE(1, 4);
      head.writeUInt32BE(60, 6);
      head.writeUInt16BE(data.length, 10);
      return Buffer.concat([head, data]);
    });
    socket.send(Buffer.concat([header, question, ...answers]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  ends.push(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

const zone: Zone = {
  "web.example": { A: [Buffer.of(10, 0, 0, 1), Buffer.of(10, 0, 0, 2)] },
  "six.example": { AAAA: [Buffer.from("20010db8000000000000000000000001", "hex")] },
  "_gpu._tcp.example": { SRV: [srv("n1.example", 9400)] },
  "mail.example": { MX: [mx("mx.example")], NS: [wireName("ns.example")] },
};

async function lookUp(config: Partial<DnsDiscovery> & Pick<DnsDiscovery, "names" | "type">) {
  const dir = await mkdtemp(path.join(tmpdir(), "gpulse-dns-"));
  ends.push(() => rm(dir, { recursive: true }));
  const resolvConf = path.join(dir, "resolv.conf");
  await writeFile(resolvConf, "search nowhere example\n");
  const servers = [await nameServer(zone)];
  const discovery = dnsDiscovery({ port: 80, refreshIntervalMs: 60_000, ...config }, silentLog, {
    servers,
    resolvConf,
  });
  ends.unshift(() => discovery.close());
  return emitted(discovery).next();
}

test.for([
  ["A", "web.example", [{ __address__: "10.0.0.1:80" }, { __address__: "10.0.0.2:80" }]],
  ["AAAA", "six.example", [{ __address__: "[2001:db8::1]:80" }]],
  [
    "SRV",
    "_gpu._tcp.example",
    [
      {
        __address__: "n1.example:9400",
        __meta_dns_srv_record_target: "n1.example.",
        __meta_dns_srv_record_port: "9400",
      },
    ],
  ],
  [
    "MX",
    "mail.example",
    [{ __address__: "mx.example:80", __meta_dns_mx_record_target: "mx.example." }],
  ],
  [
    "NS",
    "mail.example",
    [{ __address__: "ns.example:80", __meta_dns_ns_record_target: "ns.example." }],
  ],
  ["A", "web", [{ __address__: "10.0.0.1:80" }, { __address__: "10.0.0.2:80" }]],
  ["A", "nothing.example", []],
  ["A", "mail.example", []],
] as const)("%s records of %s", async ([type, name, targets]) => {
  expect(await lookUp({ type, names: [name] })).toEqual([
    { source: name, targets, labels: { __meta_dns_name: name } },
  ]);
});

test.for([
  ["search a b\n", "x", ["x.a", "x.b", "x"]],
  ["search a b\n", "x.y", ["x.y", "x.y.a", "x.y.b"]],
  ["search a\noptions ndots:5 timeout:1\n", "x.y", ["x.y.a", "x.y"]],
  ["domain a\n", "x.", ["x"]],
  ["", "x", ["x"]],
] as const)("with %j the name %s is looked up as %j", ([file, name, want]) => {
  expect(parseSearchList(file).candidates(name)).toEqual(want);
});
