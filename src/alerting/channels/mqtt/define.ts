/** `mqtt_configs`: an acknowledged message to an MQTT broker. An extension; Alertmanager has no such channel. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  secret,
  secretFile,
  sendResolved,
  template,
  tlsConfig,
  words,
  yesOrNo,
} from "../fields.ts";

export const mqtt = defineChannel({
  name: "mqtt",
  title: "MQTT",
  summary: "A message to an MQTT 3.1.1 broker, with QoS 1: Home Assistant, Node-RED and the like.",
  rate: { burst: 60, perMinute: 300 },
  example: `url: mqtts://broker.example.com:8883
topic: gpulse/alerts
username: gpulse
password: $MQTT_PASS`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    url: words("The broker: mqtt://host:1883, or mqtts://host:8883 for TLS."),
    topic: v.optional(template("The topic."), "gpulse/alerts/{{ .Status }}"),
    payload: v.optional(template("The message; empty for the webhook's JSON."), ""),
    retain: v.optional(yesOrNo("Whether the broker keeps it for who comes later."), false),
    client_id: v.optional(
      words("How we call ourselves; empty for a name of each connection's own."),
      "",
    ),
    username: v.optional(words("The user name at the broker.")),
    password: v.optional(secret("The password; $NAME takes it from the environment.")),
    password_file: v.optional(secretFile("A file with the password.")),
    tls_config: tlsConfig(),
  }),
  prepare: (given, setting) => {
    const url = URL.canParse(given.url) ? new URL(given.url) : undefined;
    const secure = url?.protocol === "mqtts:" || url?.protocol === "ssl:";
    const known = secure || url?.protocol === "mqtt:" || url?.protocol === "tcp:";
    if (url === undefined || !known || url.hostname === "") {
      setting.wrong("url", "a broker is written as mqtt://host:1883, or mqtts://host:8883.");
      return undefined;
    }
    if (url.username !== "" || url.password !== "")
      setting.wrong("url", "the user name and password have keys of their own.");
    const password = setting.secret(
      "password",
      "the password",
      given.password,
      given.password_file,
    );
    // MQTT-3.1.2-22: a password requires a user name.
    if (password !== undefined && given.username === undefined)
      setting.wrong("username", "a password needs a user name beside it.");
    return {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? (secure ? 8_883 : 1_883) : Number(url.port),
      secure,
      tls: setting.tls("tls_config", given.tls_config),
      topic: given.topic,
      payload: given.payload,
      retain: given.retain,
      clientId: given.client_id,
      username: given.username,
      password,
    };
  },
  open: async (ready, context) => (await import("./send.ts")).openMqtt(ready, context),
});
