import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../base/log.ts";
import {
  type ReceivedRequest,
  type Receiver,
  startReceiver,
} from "../../../test/fixtures/sinks/sinks.ts";
import { parseKernelLog } from "./define.ts";
import { jsonLine } from "./json-lines.ts";
import type { KernelLine } from "./line.ts";
import type { BufferedSender } from "../../base/send/buffered-sender.ts";
import { openLineSender } from "./forward.ts";

interface Stream {
  readonly stream: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [string, string, Readonly<Record<string, string>>?])[];
}

let receiver: Receiver;
let stored: Stream[];
let said: string;
const sender: BufferedSender<KernelLine>[] = [];
beforeEach(async () => {
  receiver = await startReceiver();
  stored = [];
  said = "";
  receiver.answer = take;
});
afterEach(async () => {
  for (const one of sender.splice(0)) await one.close(0);
  await receiver.close();
});

/**
 * Validates as strictly as Loki: label names, timestamps as nanosecond strings in order within a stream, metadata as
 * strings.
 */
function take({ body, headers }: ReceivedRequest): { status: number; body?: string } {
  expect(headers["content-type"]).toBe("application/json");
  const { streams, ...rest } = JSON.parse(body.toString()) as { streams: Stream[] };
  expect(rest).toEqual({});
  const seen = new Set<string>();
  for (const { stream, values } of streams) {
    for (const name of Object.keys(stream)) expect(name).toMatch(/^[a-z_][a-z0-9_]*$/i);
    expect(seen.has(JSON.stringify(stream))).toBe(false);
    seen.add(JSON.stringify(stream));
    let before = 0n;
    expect(values.length).toBeGreaterThan(0);
    for (const [time, line, metadata = {}] of values) {
      expect(time).toMatch(/^\d{19}$/);
      expect(BigInt(time)).toBeGreaterThan(before);
      before = BigInt(time);
      expect(typeof line).toBe("string");
      for (const value of Object.values(metadata)) expect(typeof value).toBe("string");
    }
  }
  stored.push(...streams);
  return { status: 204 };
}

const storedLines = (): string[] => stored.flatMap(({ values }) => values.map(([, text]) => text));

const startNs = 1_790_000_000_000_000_000n;
const line = (number: number, more: Partial<KernelLine> = {}): KernelLine => ({
  vendor: "nvidia",
  driver: "nvidia",
  level: "error",
  pciBusId: "0000:18:00.0",
  xid: 79,
  event: "xid",
  text: `line ${number}`,
  host: "node-1",
  timeNs: startNs + BigInt(number),
  ...more,
});

async function open(
  query = "",
  more: { maxItems?: number; batchItems?: number; env?: Record<string, string> } = {},
): Promise<BufferedSender<KernelLine>> {
  const url = `loki+http://${receiver.url}${query}`;
  const { definition, options } = parseKernelLog(url, more.env ?? {});
  const target = await definition.open(options, {
    stdout: process.stdout,
    version: "1.2.3",
    nowMs: () => 0,
  });
  const log = createLog({
    level: "info",
    json: false,
    colour: false,
    nowMs: () => 0,
    write: (text) => void (said += text),
  });
  const { maxItems = 10_000, batchItems = 500 } = more;
  const opened = openLineSender(target, {
    maxItems,
    batchItems,
    lingerMs: 1,
    log,
    random: () => 0,
  });
  sender.push(opened);
  return opened;
}

const patient = { timeout: 20_000, interval: 10 };

test("a stream is host, vendor and level; which GPU and which Xid goes beside the line", async () => {
  const one = await open();
  void one.add([line(2)]);
  void one.add([line(1, { pciBusId: "0000:3b:00.0", xid: 31 })]);
  void one.add([
    {
      vendor: "amd",
      driver: "amdgpu",
      level: "warn",
      text: "amdgpu: x",
      host: "node-1",
      timeNs: startNs,
    },
  ]);
  await one.close(20_000);
  const labels = { job: "gpulse-kernel", host: "node-1" };
  const xid = { driver: "nvidia", event: "xid" };
  expect(stored).toEqual([
    {
      stream: { ...labels, vendor: "amd", level: "warn" },
      values: [["1790000000000000000", "amdgpu: x", { driver: "amdgpu" }]],
    },
    {
      stream: { ...labels, vendor: "nvidia", level: "error" },
      values: [
        ["1790000000000000001", "line 1", { ...xid, pci_bus_id: "0000:3b:00.0", xid: "31" }],
        ["1790000000000000002", "line 2", { ...xid, pci_bus_id: "0000:18:00.0", xid: "79" }],
      ],
    },
  ]);
  expect(one.stats()).toMatchObject({ sentSamples: 3, waiting: 0, dropped: 0 });
});

test("an older Loki gets lines alone, and labels of ours with the job that is wanted", async () => {
  const one = await open("?structured_metadata=false&job=kernel&labels=site=berlin");
  void one.add([line(1)]);
  await one.close(20_000);
  expect(stored[0]?.values).toEqual([["1790000000000000001", "line 1"]]);
  expect(stored[0]?.stream).toMatchObject({ job: "kernel", site: "berlin" });
});

test.each([429, 500, 503, 401])(
  "after %d everything is sent again, in order, and nothing twice",
  async (status) => {
    const one = await open("", { batchItems: 40 });
    receiver.answer = () => ({ status, headers: { "retry-after": "0" }, body: "not now" });
    for (let number = 0; number < 100; number++) void one.add([line(number)]);
    await expect.poll(() => one.stats().retries, patient).toBeGreaterThan(2);
    expect(one.stats()).toMatchObject({
      sentSamples: 0,
      waiting: 100,
    });
    expect(one.stats().problem).toContain(String(status));
    receiver.answer = take;
    await expect.poll(() => one.stats().sentSamples, patient).toBe(100);
    expect(storedLines()).toEqual(Array.from({ length: 100 }, (_, number) => `line ${number}`));
    expect(said.match(/send failed, will retry/g)).toHaveLength(1);
    expect(said).toContain("sending again");
  },
);

test("lines wait while Loki is down and are sent when it is up", async () => {
  const port = Number(receiver.url.split(":")[1]);
  const one = await open();
  await receiver.close();
  for (let number = 0; number < 10; number++) void one.add([line(number)]);
  await expect.poll(() => one.stats().retries, patient).toBeGreaterThan(0);
  receiver = await startReceiver(port);
  receiver.answer = take;
  await expect.poll(() => one.stats().sentSamples, patient).toBe(10);
  expect(storedLines()).toHaveLength(10);
});

test("beyond the bound the oldest is dropped, counted and logged once", async () => {
  const one = await open("", { maxItems: 10, batchItems: 4 });
  receiver.answer = () => ({ status: 503, headers: { "retry-after": "0" } });
  for (let number = 0; number < 25; number++) void one.add([line(number)]);
  await expect.poll(() => one.stats().retries, patient).toBeGreaterThan(0);
  expect(one.stats()).toMatchObject({ waiting: 10, dropped: 15 });
  receiver.answer = take;
  await expect.poll(() => one.stats().sentSamples, patient).toBe(10);
  expect(storedLines()).toEqual(Array.from({ length: 10 }, (_, number) => `line ${number + 15}`));
  expect(said.match(/dropping the oldest/g)).toHaveLength(1);
});

test("a refused line costs no other", async () => {
  const one = await open();
  const kept = new Set<string>();
  receiver.answer = (request) => {
    if (request.body.includes('"line 13"')) return { status: 400, body: "entry too far behind" };
    for (const { values } of (JSON.parse(request.body.toString()) as { streams: Stream[] }).streams)
      for (const [, text] of values) kept.add(text);
    return { status: 204 };
  };
  for (let number = 0; number < 50; number++) void one.add([line(number)]);
  await one.close(20_000);
  expect(one.stats()).toMatchObject({ sentSamples: 49, refusedSamples: 1, waiting: 0 });
  expect(kept.size).toBe(49);
  expect(said).toContain("entry too far behind");
});

test("lines left when closing times out are counted and logged", async () => {
  const one = await open();
  receiver.answer = () => ({ status: 503 });
  for (let number = 0; number < 3; number++) void one.add([line(number)]);
  await one.close(50);
  expect(one.stats()).toMatchObject({ sentSamples: 0, dropped: 3, waiting: 0 });
  expect(said).toMatch(/closed before everything was sent.*lost=3/);
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-loki-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("tenant, user and password arrive, from a variable or a file, and nothing of them is logged", async () => {
  const file = path.join(folder, "password");
  writeFileSync(file, "s3cret-of-file\n");
  const ways: [string, Record<string, string>, string][] = [
    ["username=gpu&password=${LOKI_PASSWORD}", { LOKI_PASSWORD: "s3cret" }, "gpu:s3cret"],
    [`username=gpu&password=file:${file}`, {}, "gpu:s3cret-of-file"],
    [`username=gpu&password_file=${file}`, {}, "gpu:s3cret-of-file"],
  ];
  for (const [query, env, pair] of ways) {
    const one = await open(`?tenant=lab&${query}`, { env });
    receiver.answer = () => ({ status: receiver.requests.length % 2 === 1 ? 401 : 204 });
    receiver.requests.length = 0;
    void one.add([line(1)]);
    await expect.poll(() => one.stats().sentSamples, patient).toBe(1);
    expect(receiver.requests[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from(pair).toString("base64")}`,
      "x-scope-orgid": "lab",
    });
  }
  const bearer = await open("?bearer_token=${LOKI_TOKEN}", { env: { LOKI_TOKEN: "s3cret-token" } });
  receiver.answer = () => ({ status: 204 });
  void bearer.add([line(1)]);
  await expect.poll(() => bearer.stats().sentSamples, patient).toBe(1);
  expect(receiver.requests.at(-1)?.headers.authorization).toBe("Bearer s3cret-token");
  expect(said).toContain("send failed");
  expect(said).not.toContain("s3cret");
});

test.each([
  ["loki://host", "There is no kernel log target"],
  ["loki+http:host", "is not an address to send to"],
  ["loki+http://host?password=hidden-word&passwort=x", "passwort"],
  ["loki+http://host?since=yesterday", "start or boot"],
  ["loki+http://host?vendors=nvidia,matrox", "some of nvidia, amd, intel"],
  ["loki+http://host?password=${NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE, which is not set"],
  ["stdout:json", "takes nothing after the colon"],
  ["jsonl:", "path"],
])("%s is refused with a sentence that holds no secret", async (kernelLog, words) => {
  const context = { stdout: process.stdout, version: "1", nowMs: () => 0 };
  const attempt = async (): Promise<unknown> => {
    const given = parseKernelLog(kernelLog, {});
    return given.definition.open(given.options, context);
  };
  const thrown = await attempt().catch((error: unknown) => String(error));
  expect(thrown).toContain(words);
  expect(thrown).not.toContain("hidden-word");
});

test("a file gets a JSON object for every line, after what it has", async () => {
  const file = path.join(folder, "kernel.jsonl");
  writeFileSync(file, "{}\n");
  const { definition, options } = parseKernelLog({ jsonl: { path: file } });
  const target = await definition.open(options, {
    stdout: process.stdout,
    version: "1",
    nowMs: () => 0,
  });
  const forever = new AbortController().signal;
  expect(await target.send([line(1), line(2)], forever)).toEqual({ outcome: "sent" });
  expect(readFileSync(file, "utf8")).toBe(`{}\n${jsonLine(line(1))}${jsonLine(line(2))}`);
  expect(JSON.parse(jsonLine(line(123_456_789)))).toEqual({
    time: "2026-09-21T14:13:20.123456Z",
    host: "node-1",
    vendor: "nvidia",
    level: "error",
    driver: "nvidia",
    pci_bus_id: "0000:18:00.0",
    xid: "79",
    event: "xid",
    line: "line 123456789",
  });
});

test("an unwritable file is retried", async () => {
  const { definition, options } = parseKernelLog(`jsonl:${folder}/none/kernel.jsonl`);
  const target = await definition.open(options, {
    stdout: process.stdout,
    version: "1",
    nowMs: () => 0,
  });
  const forever = new AbortController().signal;
  expect(await target.send([line(1)], forever)).toMatchObject({ outcome: "retry" });
});
