/** `jira_configs`: one issue in Jira for each group of alerts, moved by transitions when the alerts resolve or fire again. */
import * as v from "valibot";
import { mappingOf } from "../../../config/yaml/fields.ts";
import { defineChannel } from "../channel.ts";
import {
  advanced,
  choice,
  filledTemplate,
  httpConfig,
  items,
  sendResolved,
  template,
  time,
  words,
  yesOrNo,
} from "../fields.ts";

/** A template, or a template and a flag whether it also updates an existing issue. */
const updatable = (description: string, fallback: string) =>
  v.optional(
    advanced(
      v.union(
        [
          v.pipe(
            template(description),
            v.transform((text) => ({ template: text, enable_update: true })),
          ),
          v.strictObject({
            template: v.optional(template(description), fallback),
            enable_update: v.optional(yesOrNo("Whether to change it in an existing issue."), true),
          }),
        ],
        "a template, or a mapping with template and enable_update",
      ),
      description,
    ),
    fallback,
  );

export const jira = defineChannel({
  name: "jira",
  title: "Jira",
  summary: "An issue in Jira for each group of alerts, resolved and reopened by transitions.",
  rate: { burst: 10, perMinute: 60 },
  staysOpen: true,
  example: `api_url: https://example.atlassian.net/rest/api/2
project: GPU
issue_type: Incident
resolve_transition: Done
http_config: { basic_auth: { username: gpulse@example.com, password: $JIRA_TOKEN } }`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    api_url: v.optional(words("The REST API with its version; without it, jira_api_url.")),
    api_type: v.optional(
      choice(
        ["auto", "cloud", "datacenter"],
        "How issues are searched; auto goes by the address, which is atlassian.net for the cloud.",
      ),
      "auto",
    ),
    project: filledTemplate("The project's key."),
    issue_type: filledTemplate("The type of issue."),
    summary: updatable("The issue's title.", '{{ template "jira.default.summary" . }}'),
    description: updatable(
      "The issue's description; Jira's document format as JSON for version 3, or text.",
      '{{ template "jira.default.description" . }}',
    ),
    labels: advanced(items(template("A label.")), "Labels beside the one that names the group."),
    priority: v.optional(
      template("The issue's priority."),
      '{{ template "jira.default.priority" . }}',
    ),
    resolve_transition: v.optional(words("The transition when the alerts resolve."), ""),
    reopen_transition: v.optional(words("The transition when alerts fire again."), ""),
    reopen_duration: v.optional(
      time("For how long after its resolution an issue is reopened instead of a new one made."),
      "0",
    ),
    wont_fix_resolution: v.optional(words("A resolution whose issues are left alone."), ""),
    fields: advanced(mappingOf(v.unknown()), "More fields of the issue; texts are templates."),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const written = given.api_url ?? setting.global.jira_api_url;
    if (written === undefined) {
      setting.wrong("api_url", "give api_url, or global jira_api_url.");
      return undefined;
    }
    const url = setting.url("api_url", written);
    const fields =
      Object.keys(given.fields).length === 0
        ? {}
        : (setting.typed("fields") as Readonly<Record<string, unknown>>);
    return { ...given, url, fields, http: setting.http(given.http_config) };
  },
  open: async (ready, context) => (await import("./send.ts")).openJira(ready, context),
});
