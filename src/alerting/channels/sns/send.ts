/** Publishes to Amazon SNS through its query API: a signed form with an XML response. */
import { NotifyError } from "../../route/notification.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import { signedHeaders } from "../../../net/http/sigv4.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import type { Environment } from "../environment.ts";
import { NotificationPoster } from "../post.ts";
import { compileAll, groupKeyHash, printAll } from "../render.ts";
import type { SecretText } from "../secret-text.ts";
import { shorten, shortenBytes } from "../shorten.ts";
import { amazonDomain } from "../../../net/http/aws-credentials.ts";
import { credentialReader } from "./credentials.ts";

export interface ReadySns {
  readonly accessKey: SecretText | undefined;
  readonly secretKey: SecretText | undefined;
  readonly sigv4: {
    readonly region: string;
    readonly profile: string;
    readonly role_arn: string;
    readonly use_fips_sts_endpoint: boolean;
  };
  readonly env: Environment;
  readonly http: HttpClientConfig;
  readonly api_url: string;
  readonly topic_arn: string;
  readonly phone_number: string;
  readonly target_arn: string;
  readonly subject: string;
  readonly message: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const maxMessageBytes = 256 * 1024;
/** Limit of a text message to a phone. */
const maxSmsBytes = 1_600;
const longestSubject = 100;
/** Errors that SNS reports with a 400 but that succeed on retry. */
const retried = /<Code>(Throttl\w*|RequestLimitExceeded|ExpiredToken\w*|KMSThrottling\w*)<\/Code>/;

export function openSns(ready: ReadySns, context: ChannelContext): OpenChannel {
  const poster = new NotificationPoster("SNS", ready.http, context.hidden, context.nowMs);
  const credentials = credentialReader(ready, poster, context);
  const apiUrl = context.text(ready.api_url);
  const formOf = formRenderer(ready, context);
  return {
    send: async (message, signal) => {
      const { region } = ready.sigv4;
      const own = apiUrl(message);
      if (own === "" && region === "")
        throw new NotifyError("SNS needs a region: give sigv4.region", { retryable: false });
      const url = own === "" ? `https://sns.${region}.${amazonDomain(region)}/` : own;
      const body = formOf(message).toString();
      const contentType = "application/x-www-form-urlencoded; charset=utf-8";
      const response = await poster.exchange({
        url,
        body,
        contentType,
        headers: signedHeaders(
          {
            method: "POST",
            url,
            headers: { "content-type": contentType },
            body,
            region,
            service: "sns",
            nowMs: context.nowMs(),
          },
          await credentials(message, signal),
        ),
        idempotencyKey: message.notification.idempotencyKey,
        signal,
      });
      if (response.status >= 200 && response.status < 300) return;
      const refused = poster.refused(response, `answered ${response.status}`);
      if (!retried.test(response.body.toString("utf8"))) throw refused;
      throw new NotifyError(refused.message, { retryable: true });
    },
    close: () => poster.close(),
  };
}

function formRenderer(ready: ReadySns, context: ChannelContext) {
  const { topic_arn, phone_number, target_arn, subject, message: words } = ready;
  const texts = compileAll({ topic_arn, phone_number, target_arn, subject, words }, context);
  const attributes = Object.entries(ready.attributes).map(
    ([name, value]) => [context.text(name), context.text(value)] as const,
  );
  return (message: ChannelMessage): URLSearchParams => {
    const text = printAll(texts, message);
    const limit = phone_number === "" ? maxMessageBytes : maxSmsBytes;
    const shown = shortenBytes(text.words, limit);
    const named = [
      ...attributes.map(([name, value]) => [name(message), value(message)] as const),
      ...(shown === text.words ? [] : [["truncated", "true"] as const]),
    ];
    const subjectLine = shorten(text.subject.replace(/\s+/g, " ").trim(), longestSubject);
    return new URLSearchParams({
      Action: "Publish",
      Version: "2010-03-31",
      ...(topic_arn === "" ? {} : { TopicArn: text.topic_arn }),
      ...(phone_number === "" ? {} : { PhoneNumber: text.phone_number }),
      ...(target_arn === "" ? {} : { TargetArn: text.target_arn }),
      Message: shown,
      ...(subjectLine === "" ? {} : { Subject: subjectLine }),
      // A FIFO topic delivers by group and drops duplicates of an id for five minutes.
      ...(text.topic_arn.endsWith(".fifo")
        ? {
            MessageGroupId: groupKeyHash(message),
            MessageDeduplicationId: message.notification.idempotencyKey,
          }
        : {}),
      ...Object.fromEntries(
        named.flatMap(([name, value], at) => [
          [`MessageAttributes.entry.${at + 1}.Name`, name],
          [`MessageAttributes.entry.${at + 1}.Value.DataType`, "String"],
          [`MessageAttributes.entry.${at + 1}.Value.StringValue`, value],
        ]),
      ),
    });
  };
}
