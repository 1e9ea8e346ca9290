/** `opsgenie_configs`: an alert in Opsgenie, closed when the alerts of its group resolve. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  advanced,
  httpConfig,
  items,
  secret,
  secretFile,
  sendResolved,
  template,
  templateMap,
  words,
  yesOrNo,
} from "../fields.ts";

const responderTypes = ["team", "teams", "user", "escalation", "schedule"];

const responderEntry = v.strictObject({
  id: v.optional(template("The responder's id."), ""),
  name: v.optional(template("Its name; several with commas between for `teams`."), ""),
  username: v.optional(template("A user's name."), ""),
  type: v.optional(template("team, teams, user, escalation or schedule."), ""),
});

export const opsgenie = defineChannel({
  name: "opsgenie",
  title: "Opsgenie",
  summary: "An alert in Opsgenie, closed when the alerts resolve.",
  rate: { burst: 20, perMinute: 60 },
  staysOpen: true,
  example: `api_key: $OPSGENIE_KEY
responders: [{ name: gpu-ops, type: team }]`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    api_key: v.optional(secret("The key of an API integration; without it, opsgenie_api_key.")),
    api_key_file: v.optional(secretFile("A file with that key.")),
    api_url: v.optional(words("Opsgenie's API; without it, opsgenie_api_url.")),
    message: v.optional(
      template("The alert's title, at most 130 characters."),
      '{{ template "opsgenie.default.message" . }}',
    ),
    description: v.optional(
      template("The alert's description."),
      '{{ template "opsgenie.default.description" . }}',
    ),
    source: v.optional(
      template("Where the alert comes from."),
      '{{ template "opsgenie.default.source" . }}',
    ),
    details: templateMap("More names and values, beside the common labels."),
    entity: v.optional(template("What the alert is about."), ""),
    responders: advanced(items(responderEntry), "Who is notified."),
    actions: v.optional(template("Names of custom actions, with commas between."), ""),
    tags: v.optional(template("Tags, with commas between."), ""),
    note: v.optional(template("A note on the alert."), ""),
    priority: v.optional(template("P1 to P5."), ""),
    update_alerts: v.optional(
      yesOrNo("Whether to update title and description of an open alert."),
      false,
    ),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { global, wrong } = setting;
    const key = setting.neededSecret(
      "api_key",
      "Opsgenie's key",
      { value: given.api_key, file: given.api_key_file },
      { value: global.opsgenie_api_key, file: global.opsgenie_api_key_file },
    );
    const responders = given.responders.map((responder, at) => {
      const { id, name, username, type } = responder;
      if (id === "" && name === "" && username === "")
        wrong(`responders[${at}]`, "a responder needs an id, a name or a username.");
      if (type.includes("{{")) return responder;
      if (!responderTypes.includes(type.toLowerCase()))
        wrong(`responders[${at}].type`, `give one of ${responderTypes.join(", ")}.`);
      return { ...responder, type: type.toLowerCase() };
    });
    const url = setting.url("api_url", given.api_url ?? global.opsgenie_api_url);
    if (key === undefined) return undefined;
    return { ...given, key, url, responders, http: setting.http(given.http_config) };
  },
  open: async (ready, context) => (await import("./send.ts")).openOpsgenie(ready, context),
});
