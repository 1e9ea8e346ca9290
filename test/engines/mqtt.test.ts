// The MQTT sink with a real broker: acknowledged messages, Home Assistant discovery, and a broker that restarts.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { connectPacket } from "../../src/net/mqtt/packets.ts";
import { frames, gpus, lines, sinkTo } from "./kafka-lab.ts";

const forever = new AbortController().signal;
let folder = "";
let port = 0;
const brokers: RunningProcess[] = [];
const subscribers: net.Socket[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-mqtt-sink-"));
  port = await freePort();
});
afterEach(async () => {
  for (const socket of subscribers.splice(0)) socket.destroy();
  for (const broker of brokers.splice(0)) await broker.stop();
  await rm(folder, { recursive: true, force: true });
});

async function startBroker(
  program: string,
  extra: readonly string[] = [],
): Promise<RunningProcess> {
  const file = path.join(folder, "mosquitto.conf");
  const settings = extra.length > 0 ? extra : ["allow_anonymous true"];
  await writeFile(
    file,
    [`listener ${port} 127.0.0.1`, "user root", "log_dest stderr", ...settings, ""].join("\n"),
  );
  const broker = startProcess(program, ["-c", file, "-v"], { name: "mosquitto" });
  brokers.push(broker);
  await broker.waitForOutput(/running/, 30_000);
  return broker;
}

/** Reads all messages with a minimal MQTT client: SUBSCRIBE to # with QoS 0, then PUBLISH packets. */
async function subscribe(): Promise<Map<string, string[]>> {
  const seen = new Map<string, string[]>();
  const socket = net.connect({ host: "127.0.0.1", port });
  subscribers.push(socket);
  let unread = Buffer.alloc(0);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => {
      const connect = { clientId: "sub", username: undefined, password: undefined };
      socket.write(connectPacket({ ...connect, keepAliveSeconds: 600 }));
      socket.write(Buffer.from([0x82, 0x06, 0x00, 0x01, 0x00, 0x01, 0x23, 0x00]));
    });
    socket.on("data", (bytes: Buffer) => {
      unread = Buffer.concat([unread, bytes]);
      for (;;) {
        let [length, shift, at] = [0, 0, 1];
        while (at < unread.length) {
          const digit = unread[at++] as number;
          length += (digit & 0x7f) << shift;
          shift += 7;
          if ((digit & 0x80) === 0) break;
        }
        if (unread.length < 2 || unread.length < at + length) return;
        const [type, body] = [(unread[0] as number) >> 4, unread.subarray(at, at + length)];
        unread = unread.subarray(at + length);
        if (type === 9) resolve();
        if (type !== 3) continue;
        const nameBytes = body.readUInt16BE(0);
        const topic = body.toString("utf8", 2, 2 + nameBytes);
        const reported = seen.get(topic) ?? [];
        reported.push(body.toString("utf8", 2 + nameBytes));
        seen.set(topic, reported);
      }
    });
  });
  return seen;
}

const url = (query = ""): string => `mqtt://127.0.0.1:${port}/lab?${query}`;

test("every GPU's readings are published, and Home Assistant learns its sensors", async (context) => {
  await startBroker(toolOrSkip(context, "mosquitto"));
  const seen = await subscribe();
  const sink = await sinkTo(url("discovery=homeassistant"));
  const make = frames(gpus(2));
  for (let at = 0; at < 50; at++) await sink.write(make(at));
  await sink.flush?.(forever);
  await expect.poll(() => seen.get("lab/GPU-1/stream")?.length).toBe(50);
  expect(JSON.parse(seen.get("lab/GPU-0/stream")?.[7] ?? "")).toMatchObject({
    version: 1,
    gpu: { uuid: "GPU-0" },
    values: { gpu_power_watts: 7 },
    tags: ["high_power"],
  });
  const config = "homeassistant/sensor/gpulse_GPU-0/gpu_power_watts/config";
  expect(seen.get(config)).toHaveLength(1);
  expect(JSON.parse(seen.get(config)?.[0] ?? "")).toMatchObject({
    name: "Power",
    unique_id: "gpulse_GPU-0_gpu_power_watts",
    state_topic: "lab/GPU-0/stream",
    availability_topic: "lab/status",
    value_template: "{{ value_json['values'].get('gpu_power_watts') }}",
    unit_of_measurement: "W",
    device_class: "power",
    state_class: "measurement",
    device: { identifiers: ["gpulse_GPU-0"], manufacturer: "NVIDIA", model: "H200" },
  });
  await sink.close();
  await expect.poll(() => seen.get("lab/status")).toEqual(["online", "offline"]);
});

test("a broker that is killed and comes back gets what it had no time for", async (context) => {
  const program = toolOrSkip(context, "mosquitto");
  const broker = await startBroker(program);
  const { log, said } = lines();
  const sink = await sinkTo(url("discovery=homeassistant"), log);
  const make = frames(gpus(1));
  await sink.write(make(0));
  await sink.flush?.(forever);
  process.kill(broker.pid, "SIGKILL");
  await broker.waitForExit();
  for (let at = 1; at < 30; at++) await sink.write(make(at));
  const flushed = sink.flush?.(forever);
  await expect.poll(() => said.join("")).toContain("send failed, will retry");
  const next = await startBroker(program);
  await flushed;
  const received = (topic: string): number => next.output().split(`'${topic}'`).length - 1;
  await expect.poll(() => received("lab/GPU-0/stream")).toBeGreaterThanOrEqual(29);
  // The broker has no persistence, so the sensors are announced again.
  expect(received("homeassistant/sensor/gpulse_GPU-0/gpu_power_watts/config")).toBe(1);
  await sink.close();
});

test("a broker that does not know the user ends it with what to do", async (context) => {
  await startBroker(toolOrSkip(context, "mosquitto"), ["allow_anonymous false"]);
  const sink = await sinkTo(url("username=x&password=wrong"));
  await sink.write(frames(gpus(1))(0));
  await expect(sink.flush?.(forever)).rejects.toMatchObject({
    code: "SINK_FAILED",
    message: expect.stringContaining("username=") as unknown,
  });
  await sink.close();
});
