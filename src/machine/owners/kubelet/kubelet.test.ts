import { mkdtemp, rm, writeFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fuzz, fuzzTimeoutMs } from "../../../../test/fuzz/mutate.ts";
import { silentLog } from "../../../base/log.ts";
import { listPodResources } from "./client.ts";
import { KubeletDevices } from "./devices.ts";
import {
  encodePodResources,
  type FakeKubelet,
  type Reply,
  replyStatus,
  replyWith,
  startKubelet,
  varint,
} from "../../../../test/fixtures/machine/owners-kubelet.ts";
import { parseLogNames, PodNames } from "./pod-names.ts";
import { ProtoError } from "../../../formats/protobuf/reader.ts";
import { decodePodResources } from "./pod-resources.ts";

const pods = [
  {
    pod: "train-0",
    namespace: "research",
    containers: { main: { "nvidia.com/gpu": ["GPU-aaaa"], "example.com/nic": ["nic0"] }, side: {} },
  },
  {
    pod: "notebook",
    namespace: "lab",
    containers: { jupyter: { "nvidia.com/gpu": ["GPU-bbbb::0"] } },
  },
  { pod: "shared", namespace: "lab", containers: { serve: { "nvidia.com/gpu": ["GPU-bbbb::3"] } } },
  {
    pod: "dra",
    namespace: "lab",
    containers: {
      c: { claim: ["k8s.gpu.nvidia.com/claim=6f1c3b1e-9a55-4c6e-8f6e-2f0d6c1b7a11-gpu-3"] },
    },
  },
];

/** A device identified only by its UUID. */
const gpu = (uuid: string) => ({ uuid, vendor: "nvidia" });

let folder = "";
let socket = "";
let kubelet: FakeKubelet | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-kubelet-"));
  socket = join(folder, "k.sock");
});
afterEach(async () => {
  await kubelet?.close();
  kubelet = undefined;
  await rm(folder, { recursive: true });
});
const serve = async (reply: Reply) => (kubelet = await startKubelet(socket, reply));
const ask = (deadlineMs = 5_000) => listPodResources({ socket, deadlineMs });

test("the list says who holds which device, of plugins, time slices and claims", () => {
  const held = decodePodResources(encodePodResources(pods));
  expect(held.map(({ pod, container, device }) => [pod, container, device])).toEqual([
    ["train-0", "main", "gpu-aaaa"],
    ["train-0", "main", "nic0"],
    ["notebook", "jupyter", "gpu-bbbb"],
    ["shared", "serve", "gpu-bbbb"],
    ["dra", "c", "gpu.nvidia.com/gpu-3"],
  ]);
  expect(held[0]).toMatchObject({ namespace: "research", resource: "nvidia.com/gpu" });
});

test.each([
  ["a cut number", Buffer.from([0x80])],
  ["a number without end", Buffer.alloc(12, 0xff)],
  ["a field longer than the message", Buffer.from([0x0a, 0x05, 1])],
  ["an unknown type", Buffer.from([0x0b])],
  ["field number 0", Buffer.from([0x02, 0x00])],
  ["a huge length", Buffer.concat([Buffer.from([0x0a]), varint(2 ** 52)])],
])("%s is refused", (_, bytes) => expect(() => decodePodResources(bytes)).toThrow(ProtoError));

test("the kubelet is asked over its socket and answered in pieces of any size", async () => {
  const many = Array.from({ length: 400 }, (_, index) => ({
    pod: `pod-${index}`,
    namespace: "n".repeat(60),
    containers: { c: { "nvidia.com/gpu": [`GPU-${index}-${"x".repeat(400)}`] } },
  }));
  const message = encodePodResources(many);
  expect(message.length).toBeGreaterThan(150_000);
  const { asked } = await serve(replyWith(message));
  expect(Buffer.from(await ask()).equals(message)).toBe(true);
  expect(asked).toEqual(["/v1.PodResourcesLister/List"]);
});

test("an agent that got no processor time for longer than the deadline reads the answer that waits", async () => {
  await serve(replyWith(encodePodResources(pods)));
  const answer = ask(200);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  expect(decodePodResources(await answer)).toHaveLength(5);
});

test("a kubelet that knows only the old version is asked in that", async () => {
  const message = encodePodResources(pods);
  const { asked } = await serve((stream, path, sent) =>
    (path.startsWith("/v1.") ? replyStatus(12) : replyWith(message))(stream, path, sent),
  );
  expect(decodePodResources(await ask())).toHaveLength(5);
  expect(asked.at(-1)).toBe("/v1alpha1.PodResourcesLister/List");
});

test.each<readonly [string, Reply, RegExp]>([
  ["refuses", replyStatus(7), /grpc status 7/],
  ["hangs", () => {}, /within 150 ms/],
  ["closes", (stream) => stream.session?.destroy(), /./],
  [
    "answers as a web server",
    (stream) => stream.respond({ ":status": 404 }, { endStream: true }),
    /HTTP 404|without its status/,
  ],
  [
    "cuts its answer",
    (stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.from([0, 0, 0, 1, 0, 7]));
    },
    /cut off/,
  ],
])("a kubelet that %s is an error in one sentence", async (_, reply, says) => {
  await serve(reply);
  await expect(ask(150)).rejects.toThrow(says);
});

test("holders are remembered, refreshed when old, and turn to a reason when the kubelet fails", async () => {
  let nowMs = 0;
  const devices = new KubeletDevices({
    socket,
    nowMs: () => nowMs,
    log: silentLog,
    deadlineMs: 200,
  });
  expect(devices.holders(gpu("GPU-aaaa"))).toEqual({ known: false, reason: "unavailable" });
  await devices.refresh();
  expect(devices.holders(gpu("GPU-aaaa"))).toEqual({ known: false, reason: "unavailable" });

  const server = await serve(replyWith(encodePodResources(pods)));
  nowMs += 60_000;
  await Promise.all([devices.refresh(), devices.refresh()]);
  await devices.refresh();
  expect(server.asked).toHaveLength(1);
  expect(devices.holders(gpu("gpu-AAAA"))).toMatchObject({
    known: true,
    value: [{ pod: "train-0" }],
  });
  expect(devices.holders(gpu("GPU-bbbb"))).toMatchObject({
    known: true,
    value: [{ pod: "notebook" }, { pod: "shared" }],
  });
  expect(devices.holders(gpu("GPU-free"))).toEqual({ known: true, value: [] });

  server.reply = replyStatus(14);
  nowMs += 60_000;
  await devices.refresh();
  expect(devices.holders(gpu("GPU-aaaa"))).toEqual({ known: false, reason: "failed" });
  server.reply = replyWith(encodePodResources([]));
  nowMs += 60_000;
  await devices.refresh();
  expect(devices.holders(gpu("GPU-aaaa"))).toEqual({ known: true, value: [] });
});

test("the list is read again by itself, and every difference is announced", async () => {
  const server = await serve(replyWith(encodePodResources(pods)));
  const devices = new KubeletDevices({ socket, nowMs: Date.now, log: silentLog, everyMs: 20 });
  let changes = 0;
  devices.onChange(() => changes++);
  await devices.refresh();
  expect(changes).toBe(1);
  await expect.poll(() => server.asked.length).toBeGreaterThan(3);
  expect(changes).toBe(1);
  server.reply = replyWith(encodePodResources([]));
  await expect.poll(() => changes).toBe(2);
  expect(devices.holders(gpu("GPU-aaaa"))).toEqual({ known: true, value: [] });
});

test("a kubelet that fails for a moment costs no owner, one that is gone costs all", async () => {
  let nowMs = 0;
  const server = await serve(replyWith(encodePodResources(pods)));
  const devices = new KubeletDevices({
    socket,
    nowMs: () => nowMs,
    log: silentLog,
    deadlineMs: 200,
  });
  await devices.refresh();
  server.reply = replyStatus(14);
  nowMs += 5_000;
  await devices.refresh();
  expect(devices.holders(gpu("GPU-aaaa"))).toMatchObject({ value: [{ pod: "train-0" }] });
  nowMs += 5_000;
  await devices.refresh();
  expect(devices.holders(gpu("GPU-aaaa"))).toEqual({ known: false, reason: "failed" });
  server.reply = replyWith(encodePodResources(pods));
  nowMs += 5_000;
  await devices.refresh();
  expect(devices.holders(gpu("GPU-aaaa"))).toMatchObject({ value: [{ pod: "train-0" }] });
  await kubelet?.close();
  nowMs += 5_000;
  await devices.refresh();
  expect(devices.holders(gpu("GPU-aaaa"))).toEqual({ known: false, reason: "unavailable" });
});

test("names come from the file names of the container logs", async () => {
  const id = "ab".repeat(32);
  expect(
    parseLogNames([`train-0_research_main-${id}.log`, "junk", `a_b-${id}.log`, `${id}.log`]),
  ).toEqual(new Map([[id, { pod: "train-0", namespace: "research", container: "main" }]]));

  let nowMs = 0;
  const logs = join(folder, "containers");
  const names = new PodNames(logs, () => nowMs);
  expect(await names.of(id)).toEqual({ known: false, reason: "unavailable" });
  await mkdir(logs);
  await writeFile(join(logs, `train-0_research_main-${id}.log`), "");
  expect(await names.of(id)).toEqual({ known: false, reason: "unavailable" });
  nowMs = 2_000;
  expect(await names.of(id)).toMatchObject({ known: true, value: { pod: "train-0" } });
  expect(await names.of("cd".repeat(32))).toEqual({ known: false, reason: "none" });
});

test(
  "whatever the bytes, the answer ends in a list or a wire error",
  () =>
    fuzz({
      seed: 5,
      samples: [encodePodResources(pods), encodePodResources(pods.slice(0, 1))],
      parse: (bytes) => {
        try {
          return decodePodResources(bytes);
        } catch (thrown) {
          if (thrown instanceof ProtoError) return undefined;
          throw thrown;
        }
      },
    }),
  fuzzTimeoutMs,
);
