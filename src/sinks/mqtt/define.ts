/** `mqtt://HOST:1883/PREFIX` and `mqtts://…`: sends readings to an MQTT broker, with Home Assistant discovery. */
import * as v from "valibot";
import { text } from "../../config/fields.ts";
import { defineSink, type SinkDefinition } from "../../pipeline/sink.ts";

export const mqttOptions = v.strictObject({
  address: v.pipe(
    text("an address such as //host:1883/gpulse"),
    v.description("Broker and topic prefix. Default prefix: gpulse."),
  ),
  discovery: v.optional(
    v.pipe(
      v.picklist(["none", "homeassistant"], "none or homeassistant"),
      v.description(
        "homeassistant: announce every GPU and its sensors to Home Assistant (MQTT discovery).",
      ),
    ),
    "none",
  ),
  "discovery-prefix": v.optional(
    v.pipe(text("a topic"), v.description("Home Assistant's discovery prefix.")),
    "homeassistant",
  ),
  username: v.optional(v.pipe(text(), v.description("User name."))),
  password: v.optional(
    v.pipe(text(), v.description("Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  "client-id": v.optional(
    v.pipe(text("a name"), v.description("Client id; must be unique on the broker.")),
  ),
  ca_file: v.optional(v.pipe(text("a file"), v.description("CA certificates to trust, PEM."))),
});

const define = (scheme: "mqtt" | "mqtts"): SinkDefinition =>
  defineSink({
    name: scheme,
    summary: `A message per GPU and timestamp to an MQTT 3.1.1 broker, with QoS 1${scheme === "mqtts" ? ", over TLS" : ""}.`,
    mainOption: "address",
    options: mqttOptions,
    examples: [
      {
        url: `${scheme}://broker:${scheme === "mqtt" ? 1883 : 8883}/gpulse?discovery=homeassistant`,
        description: "with discovery of every sensor by Home Assistant",
      },
    ],
    create: async (options, context) => {
      const { openMqttSink } = await import("./open.ts");
      return openMqttSink(scheme, options, context);
    },
  });

export const mqtt = define("mqtt");
export const mqtts = define("mqtts");
