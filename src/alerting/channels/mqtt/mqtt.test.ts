import net from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { openEntries, sendBy, twoAlerts } from "../../../../test/fixtures/alerting/channels.ts";
import { connectPacket, isTopic, publishPacket, readPacket } from "../../../net/mqtt/packets.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** The bytes of MQTT 3.1.1, worked out by hand from its sections 3.1 and 3.3. */
test("packets are what the standard says", () => {
  const plain = { clientId: "a", username: undefined, password: undefined, keepAliveSeconds: 60 };
  expect(hex(connectPacket(plain))).toBe("100d00044d5154540402003c000161");
  expect(hex(connectPacket({ ...plain, username: "u", password: "pw" }))).toBe(
    "101400044d51545404c2003c00016100017500027077",
  );
  const publish = { topic: "a/b", payload: Buffer.from("hi"), packetId: 1, retain: false };
  expect(hex(publishPacket(publish))).toBe("32090003612f6200016869");
  expect(hex(publishPacket({ ...publish, retain: true })).slice(0, 2)).toBe("33");
});

test.each([
  [0, "320700"],
  [120, "327f00"],
  [121, "32800100"],
  [16_376, "32ff7f00"],
  [16_377, "3280800100"],
])("a payload of %i bytes has its length in as many bytes as it takes", (bytes, starts) => {
  const packet = publishPacket({
    topic: "abc",
    payload: Buffer.alloc(bytes),
    packetId: 1,
    retain: false,
  });
  expect(hex(packet).slice(0, starts.length)).toBe(starts);
});

test("a packet is read when all of it is there, and no sooner", () => {
  const connack = Buffer.from("20020000", "hex");
  for (let size = 0; size < 4; size++)
    expect(readPacket(connack.subarray(0, size))).toBeUndefined();
  expect(readPacket(Buffer.concat([connack, connack]))).toEqual({
    packet: { type: 2, body: Buffer.from([0, 0]) },
    length: 4,
  });
  expect(() => readPacket(Buffer.from("48545450", "hex"))).not.toThrow();
  expect(() => readPacket(Buffer.from("20ffffffff", "hex"))).toThrow("no answer of an MQTT broker");
  expect(() => readPacket(Buffer.from("20ff7f", "hex"))).toThrow("no answer of an MQTT broker");
});

test.each([
  ["a/b", true],
  ["", false],
  ["a/#", false],
  ["+/b", false],
  ["a\r\nb", false],
  ["a\0b", false],
  ["a\u0085b", false],
  ["a\ud800b", false],
  ["a".repeat(65_536), false],
])("%s may be published to: %s", (topic, may) => expect(isTopic(topic)).toBe(may));

let server: net.Server | undefined;
afterEach(
  () =>
    new Promise<void>((resolve) =>
      server === undefined ? resolve() : server.close(() => resolve()),
    ),
);

/** Answers each packet that comes with the bytes it is told, by the packet's type. */
async function broker(
  answers: Readonly<Record<number, string>>,
): Promise<{ port: number; took: Buffer[] }> {
  const took: Buffer[] = [];
  server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => {
      took.push(bytes);
      const answer = answers[(bytes[0] ?? 0) >> 4];
      if (answer === "end") socket.destroy();
      else if (answer !== undefined)
        for (const byte of Buffer.from(answer, "hex")) socket.write(Buffer.from([byte]));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, took };
}

const open = (port: number, more = "") =>
  openEntries(
    `mqtt_configs: [{ url: 'mqtt://127.0.0.1:${port}', topic: 'gpus/{{ .Status }}'${more} }]`,
    {
      env: { MQTT_PASS: "hunter2-mqtt" },
    },
  );

test("a message is published with the key in it, and taken when its receipt comes", async () => {
  const { port, took } = await broker({ 1: "20020000", 3: "40020001" });
  const receivers = await open(port, ", username: gpulse, password: $MQTT_PASS");
  expect(await sendBy(receivers)).toBeUndefined();
  const published = took[1]?.toString("latin1") ?? "";
  expect(published).toContain("gpus/firing");
  expect(published).toContain('"version":"4"');
  expect(published).toContain(`"idempotencyKey":"${twoAlerts.idempotencyKey}"`);
  expect(took[0]?.toString("latin1")).toContain("hunter2-mqtt");
  receivers.close();
});

test.each([
  ["20020001", false, undefined, "does not speak MQTT 3.1.1"],
  ["20020002", false, undefined, "client id"],
  ["20020003", true, undefined, "not ready"],
  ["20020004", true, 300_000, "user name and password"],
  ["20020005", true, 300_000, "let this user in"],
  ["end", true, undefined, "ended the connection"],
  ["20ffffffff", true, undefined, "no answer of an MQTT broker"],
] as const)("a broker that answers %s is retried: %s", async (answer, retryable, afterMs, says) => {
  const { port } = await broker({ 1: answer });
  const receivers = await open(port, ", username: gpulse, password: $MQTT_PASS");
  const problem = await sendBy(receivers);
  expect(problem?.message).toContain(says);
  expect(problem?.message).not.toContain("hunter2");
  expect([problem?.retryable, problem?.retryAfterMs]).toEqual([retryable, afterMs]);
  receivers.close();
});

test("a broker that sends no receipt has not taken it", async () => {
  const { port } = await broker({ 1: "20020000", 3: "end" });
  const receivers = await open(port);
  expect((await sendBy(receivers))?.retryable).toBe(true);
  receivers.close();
});

test("given up while it waits, it ends the connection", async () => {
  const { port } = await broker({});
  const receivers = await open(port);
  const problem = await sendBy(receivers, twoAlerts, AbortSignal.timeout(50));
  expect([problem?.retryable, problem?.message]).toEqual([
    true,
    expect.stringContaining("given up"),
  ]);
  receivers.close();
});
