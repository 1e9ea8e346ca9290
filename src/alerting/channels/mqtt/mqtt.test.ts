import net, { type AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { openEntries, sendBy, twoAlerts } from "../../../../test/fixtures/alerting/channels.ts";

let server: net.Server | undefined;
afterEach(
  () =>
    new Promise<void>((resolve) =>
      server === undefined ? resolve() : server.close(() => resolve()),
    ),
);

/** Replies to each received packet with the given bytes, by packet type. */
async function broker(
  replies: Readonly<Record<number, string>>,
): Promise<{ port: number; received: Buffer[] }> {
  const received: Buffer[] = [];
  server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => {
      received.push(bytes);
      const answer = replies[(bytes[0] ?? 0) >> 4];
      if (answer === "end") socket.destroy();
      else if (answer !== undefined)
        for (const byte of Buffer.from(answer, "hex")) socket.write(Buffer.from([byte]));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, received };
}

const open = (port: number, more = "") =>
  openEntries(
    `mqtt_configs: [{ url: 'mqtt://127.0.0.1:${port}', topic: 'gpus/{{ .Status }}'${more} }]`,
    {
      env: { MQTT_PASS: "hunter2-mqtt" },
    },
  );

test("a message carries the idempotency key and is delivered on PUBACK", async () => {
  const { port, received } = await broker({ 1: "20020000", 3: "40020001" });
  const receivers = await open(port, ", username: gpulse, password: $MQTT_PASS");
  expect(await sendBy(receivers)).toBeUndefined();
  const published = received[1]?.toString("latin1") ?? "";
  expect(published).toContain("gpus/firing");
  expect(published).toContain('"version":"4"');
  expect(published).toContain(`"idempotencyKey":"${twoAlerts.idempotencyKey}"`);
  expect(received[0]?.toString("latin1")).toContain("hunter2-mqtt");
  receivers.close();
});

test.each([
  ["20020001", false, undefined, "does not support MQTT 3.1.1"],
  ["20020002", false, undefined, "client id"],
  ["20020003", true, undefined, "not ready"],
  ["20020004", true, 300_000, "user name and password"],
  ["20020005", true, 300_000, "does not authorize this user"],
  ["end", true, undefined, "closed the connection"],
  ["20ffffffff", true, undefined, "not MQTT"],
] as const)(
  "a CONNECT answered with %s is retried: %s",
  async (answer, retryable, afterMs, says) => {
    const { port } = await broker({ 1: answer });
    const receivers = await open(port, ", username: gpulse, password: $MQTT_PASS");
    const problem = await sendBy(receivers);
    expect(problem?.message).toContain(says);
    expect(problem?.message).not.toContain("hunter2");
    expect([problem?.retryable, problem?.retryAfterMs]).toEqual([retryable, afterMs]);
    receivers.close();
  },
);

test("a message without PUBACK is retried", async () => {
  const { port } = await broker({ 1: "20020000", 3: "end" });
  const receivers = await open(port);
  expect((await sendBy(receivers))?.retryable).toBe(true);
  receivers.close();
});

test("an aborted send closes the connection", async () => {
  const { port } = await broker({});
  const receivers = await open(port);
  const problem = await sendBy(receivers, twoAlerts, AbortSignal.timeout(50));
  expect([problem?.retryable, problem?.message]).toEqual([
    true,
    expect.stringContaining("aborted"),
  ]);
  receivers.close();
});
