/** `sns_configs`: a message to an Amazon SNS topic, a mobile endpoint or a telephone number. */
import * as v from "valibot";
import { Secret } from "../../../net/http/secret.ts";
import { scalar } from "../../../config/yaml/fields.ts";
import { defineChannel } from "../channel.ts";
import {
  advanced,
  httpConfig,
  sendResolved,
  template,
  templateMap,
  words,
  yesOrNo,
} from "../fields.ts";
import type { SecretText } from "../secret-text.ts";

const sigv4Entry = v.strictObject({
  region: v.optional(words("The region; without it, AWS_REGION."), ""),
  access_key: v.optional(scalar(), ""),
  secret_key: v.optional(scalar(), ""),
  profile: v.optional(words("A profile of the shared credentials file."), ""),
  role_arn: v.optional(words("A role to assume."), ""),
  service: v.optional(words("Accepted for Prometheus's sake; the service is sns.")),
  use_fips_sts_endpoint: v.optional(
    yesOrNo("Whether to assume the role by a FIPS endpoint."),
    false,
  ),
});

export const sns = defineChannel({
  name: "sns",
  title: "Amazon SNS",
  summary: "A message to an Amazon SNS topic, a mobile endpoint or a telephone number.",
  rate: { burst: 20, perMinute: 120 },
  example: `topic_arn: arn:aws:sns:eu-central-1:123456789012:gpus
sigv4: { region: eu-central-1, access_key: $AWS_KEY, secret_key: $AWS_SECRET }`,
  options: v.strictObject({
    send_resolved: sendResolved(true),
    api_url: v.optional(template("SNS's address; without it, that of the region."), ""),
    sigv4: advanced(
      v.optional(sigv4Entry, {}),
      "Region and credentials; without keys, those of the environment.",
    ),
    topic_arn: v.optional(template("The topic."), ""),
    phone_number: v.optional(template("A telephone number, in E.164."), ""),
    target_arn: v.optional(template("A mobile endpoint."), ""),
    subject: v.optional(
      template("The subject of emails."),
      '{{ template "sns.default.subject" . }}',
    ),
    message: v.optional(template("The message."), '{{ template "sns.default.message" . }}'),
    attributes: templateMap("Attributes of the message."),
    http_config: httpConfig(),
  }),
  prepare: (given, setting) => {
    const { topic_arn, phone_number, target_arn } = given;
    if ([topic_arn, phone_number, target_arn].filter((one) => one !== "").length !== 1)
      setting.wrong("topic_arn", "give one of topic_arn, phone_number, target_arn.");
    const { access_key, secret_key, ...sigv4 } = given.sigv4;
    if ((access_key === "") !== (secret_key === ""))
      setting.wrong("sigv4", "give access_key and secret_key, or neither.");
    const read = (key: string, what: string, text: string): SecretText | undefined =>
      setting.secret(`sigv4.${key}`, what, new Secret(text), undefined);
    const region = sigv4.region || setting.env["AWS_REGION"] || setting.env["AWS_DEFAULT_REGION"];
    if (region === undefined || region === "")
      setting.warn("sigv4", "no region is given: set region, or AWS_REGION in the environment.");
    return {
      ...given,
      sigv4: { ...sigv4, region: region ?? "" },
      accessKey: read("access_key", "the access key", access_key),
      secretKey: read("secret_key", "the secret key", secret_key),
      env: setting.env,
      http: setting.http(given.http_config),
    };
  },
  open: async (ready, context) => (await import("./send.ts")).openSns(ready, context),
});
