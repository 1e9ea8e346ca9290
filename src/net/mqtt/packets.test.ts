import { expect, test } from "vitest";
import { connectPacket, isTopic, publishPacket, readPacket } from "./packets.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** The bytes are derived by hand from MQTT 3.1.1, sections 3.1 and 3.3. */
test("packets match the standard", () => {
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
])("a payload of %i bytes has the shortest length field", (bytes, starts) => {
  const packet = publishPacket({
    topic: "abc",
    payload: Buffer.alloc(bytes),
    packetId: 1,
    retain: false,
  });
  expect(hex(packet).slice(0, starts.length)).toBe(starts);
});

test("a packet is read only once it is complete", () => {
  const connack = Buffer.from("20020000", "hex");
  for (let size = 0; size < 4; size++)
    expect(readPacket(connack.subarray(0, size))).toBeUndefined();
  expect(readPacket(Buffer.concat([connack, connack]))).toEqual({
    packet: { type: 2, body: Buffer.from([0, 0]) },
    length: 4,
  });
  expect(() => readPacket(Buffer.from("48545450", "hex"))).not.toThrow();
  expect(() => readPacket(Buffer.from("20ffffffff", "hex"))).toThrow("the response is not MQTT");
  expect(() => readPacket(Buffer.from("20ff7f", "hex"))).toThrow("the response is not MQTT");
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
])("topic %j is valid: %s", (topic, may) => expect(isTopic(topic)).toBe(may));
