/** `victorops_configs`: an incident in Splunk On-Call (formerly VictorOps), recovered when the alerts of its group resolve. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  filledTemplate,
  httpConfig,
  secret,
  secretFile,
  sendResolved,
  template,
  templateMap,
  words,
} from "../fields.ts";

/** The message's built-in fields, which custom fields may not override. */
const reservedFields = [
  "routing_key",
  "message_type",
  "state_message",
  "entity_display_name",
  "monitoring_tool",
  "entity_id",
  "entity_state",
];

export const victorops = defineChannel({
  name: "victorops",
  title: "Splunk On-Call (VictorOps)",
  summary: "An incident in Splunk On-Call, recovered when the alerts resolve.",
  rate: { burst: 20, perMinute: 60 },
  staysOpen: true,
  example: `api_key: $VICTOROPS_KEY
routing_key: gpu-ops`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    api_key: v.optional(secret("The key of the REST endpoint; without it, victorops_api_key.")),
    api_key_file: v.optional(secretFile("A file with that key.")),
    api_url: v.optional(words("The REST endpoint; without it, victorops_api_url.")),
    routing_key: filledTemplate("The routing key, which chooses the team."),
    message_type: v.optional(template("CRITICAL, WARNING or INFO."), "CRITICAL"),
    entity_display_name: v.optional(
      template("The incident's title."),
      '{{ template "victorops.default.entity_display_name" . }}',
    ),
    state_message: v.optional(
      template("The incident's text."),
      '{{ template "victorops.default.state_message" . }}',
    ),
    monitoring_tool: v.optional(
      template("What sends it."),
      '{{ template "victorops.default.monitoring_tool" . }}',
    ),
    custom_fields: templateMap("More names and values."),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { global } = setting;
    const key = setting.neededSecret(
      "api_key",
      "Splunk On-Call's key",
      { value: given.api_key, file: given.api_key_file },
      { value: global.victorops_api_key, file: global.victorops_api_key_file },
    );
    for (const name of reservedFields.filter((field) => field in given.custom_fields))
      setting.wrong("custom_fields", `${name} is a field of the message itself.`);
    const url = setting.url("api_url", given.api_url ?? global.victorops_api_url);
    if (key === undefined) return undefined;
    return { ...given, key, url, http: setting.http(given.http_config) };
  },
  open: async (ready, context) => (await import("./send.ts")).openVictorops(ready, context),
});
