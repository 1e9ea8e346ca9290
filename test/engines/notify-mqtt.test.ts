// Notifications to a real MQTT broker: over TLS, with user names and passwords, verified in the broker's own log.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { openEntries, sendBy } from "../fixtures/alerting/channels.ts";

const password = "hunter2-mqtt";
const authority = makeAuthority("test CA");

let dir: string;
let broker: RunningProcess | undefined;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-mqtt-"));
});
afterEach(async () => {
  await broker?.stop();
  broker = undefined;
  rmSync(dir, { recursive: true, force: true });
});

/** Returns the port; the broker's log contains the messages it receives. */
async function startBroker(program: string, secure: boolean): Promise<number> {
  const port = await freePort();
  const { cert, key } = writeCertificate(
    dir,
    "broker",
    authority.issue({ commonName: "broker", names: ["127.0.0.1"] }),
  );
  writeFileSync(path.join(dir, "ca.pem"), authority.cert);
  writeFileSync(path.join(dir, "users"), "", { mode: 0o600 });
  const lines = [
    `listener ${port} 127.0.0.1`,
    `allow_anonymous ${secure ? "false" : "true"}`,
    ...(secure
      ? [`certfile ${cert}`, `keyfile ${key}`, `password_file ${path.join(dir, "users")}`]
      : []),
    "log_type all",
    "log_dest stderr",
    "user root",
  ];
  const file = path.join(dir, "mosquitto.conf");
  writeFileSync(file, `${lines.join("\n")}\n`);
  if (secure) {
    const made = startProcess(program.replace(/sbin\/mosquitto$/, "bin/mosquitto_passwd"), [
      "-b",
      path.join(dir, "users"),
      "gpulse",
      password,
    ]);
    expect((await made.waitForExit()).code).toBe(0);
  }
  broker = startProcess(program, ["-c", file, "-v"]);
  await broker.waitForOutput(/mosquitto version .* running/);
  return port;
}

const open = (url: string, more: string) =>
  openEntries(`mqtt_configs: [{ url: '${url}', topic: 'gpus/{{ .Status }}'${more} }]`, {
    env: { MQTT_PASS: password },
    file: path.join(dir, "alertmanager.yml"),
  });

test("a real broker takes a message and sends its receipt", async (context) => {
  const port = await startBroker(toolOrSkip(context, "mosquitto"), false);
  const receivers = await open(`mqtt://127.0.0.1:${port}`, "");
  expect(await sendBy(receivers)).toBeUndefined();
  await broker?.waitForOutput(
    /Received PUBLISH from gpulse0123456789abcdef0 \(d0, q1, r0, m1, 'gpus\/firing'/,
  );
  await broker?.waitForOutput(/Sending PUBACK to gpulse/);
  await broker?.waitForOutput(/Received DISCONNECT from gpulse/);
  receivers.close();
});

test("a real broker lets us in over TLS with the right password, and not with another", async (context) => {
  const port = await startBroker(toolOrSkip(context, "mosquitto"), true);
  const tls = ", tls_config: { ca_file: ca.pem }, username: gpulse, retain: true";
  const right = await open(`mqtts://127.0.0.1:${port}`, `${tls}, password: $MQTT_PASS`);
  expect(await sendBy(right)).toBeUndefined();
  await broker?.waitForOutput(/Received PUBLISH from gpulse\w+ \(d0, q1, r1, m1, 'gpus\/firing'/);
  const wrong = await open(`mqtts://127.0.0.1:${port}`, `${tls}, password: hunter2-wrong`);
  const refused = await sendBy(wrong);
  expect(refused?.message).toMatch(/user name and password|authorize this user/);
  expect([refused?.retryable, refused?.retryAfterMs]).toEqual([true, 300_000]);
  const stranger = await open(
    `mqtts://127.0.0.1:${port}`,
    ", username: gpulse, password: $MQTT_PASS",
  );
  expect((await sendBy(stranger))?.message).toMatch(/certificate/);
  for (const receivers of [right, wrong, stranger]) receivers.close();
});
