/** Opens an MQTT sink from its options. It connects to the broker when there is data to send. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type * as v from "valibot";
import { fillSecrets } from "../../config/secrets.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { isTopic } from "../../net/mqtt/packets.ts";
import type { SinkContext } from "../../pipeline/sink.ts";
import type { mqttOptions } from "./define.ts";
import { MqttSink } from "./sink.ts";

export type MqttOptions = v.InferOutput<typeof mqttOptions>;

export function openMqttSink(
  scheme: "mqtt" | "mqtts",
  options: MqttOptions,
  context: SinkContext,
): MqttSink {
  const { address } = options;
  const url = URL.canParse(`${scheme}:${address}`) ? new URL(`${scheme}:${address}`) : undefined;
  const prefix = decodeURIComponent(url?.pathname ?? "").replace(/^\/+|\/+$/g, "") || "gpulse";
  const refuse = (why: string): GpulseError =>
    new GpulseError(
      "SOURCE_OPTIONS",
      `"${scheme}:${address.replace(/\/\/[^/]*@/, "//…@")}" ${why}: write ${scheme}://HOST:${scheme === "mqtt" ? 1883 : 8883}/PREFIX.`,
    );
  if (!address.startsWith("//") || url === undefined || url.hostname === "")
    throw refuse("is not a broker's address");
  if (url.username !== "" || url.password !== "")
    throw refuse("has a user in its address, where username= and password= belong");
  if (!isTopic(prefix)) throw refuse("has a topic with a wildcard in it");
  const given = { password: options.password };
  const { password } = fillSecrets(given, { env: process.env, folder: process.cwd() })
    .value as typeof given;
  if (password !== undefined && options.username === undefined)
    throw refuse("has a password without username=");
  return new MqttSink({
    broker: {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? (scheme === "mqtt" ? 1_883 : 8_883) : Number(url.port),
      tls:
        scheme === "mqtt" ? undefined : { ...(options.ca_file && { ca: readCa(options.ca_file) }) },
    },
    prefix,
    discoveryPrefix:
      options.discovery === "homeassistant" ? options["discovery-prefix"] : undefined,
    username: options.username,
    password,
    clientId:
      options["client-id"] ?? `gpulse-${Math.floor(context.random() * 2 ** 40).toString(36)}`,
    hostName: context.hostName,
    log: context.log,
    random: context.random,
  });
}

function readCa(file: string): Buffer {
  try {
    return readFileSync(path.resolve(file));
  } catch (thrown) {
    throw new GpulseError("TLS_FILES", `${file} cannot be read: ${formatError(thrown)}.`);
  }
}
