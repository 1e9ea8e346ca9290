/**
 * The AWS credentials of an SNS entry: its own keys, a profile of the shared credentials file, or the environment; optionally
 * exchanged for those of a role, which expire. Instance and container metadata, SSO and web identities are not supported.
 */
import { NotifyError } from "../../route/notification.ts";
import { formatError } from "../../../base/error.ts";
import { amazonDomain, findAwsCredentials } from "../../../net/http/aws-credentials.ts";
import { type AwsCredentials, signedHeaders } from "../../../net/http/sigv4.ts";
import type { ChannelContext, ChannelMessage } from "../channel.ts";
import type { NotificationPoster } from "../post.ts";
import type { ReadySns } from "./send.ts";

export type ReadCredentials = (
  message: ChannelMessage,
  signal: AbortSignal,
) => Promise<AwsCredentials>;

/** A role's credentials are renewed this long before they expire. */
const marginMs = 60_000;

export function credentialReader(
  ready: ReadySns,
  poster: NotificationPoster,
  context: ChannelContext,
): ReadCredentials {
  let assumed: { readonly credentials: AwsCredentials; readonly untilMs: number } | undefined;
  const hide = (credentials: AwsCredentials): AwsCredentials => {
    context.hidden.add(credentials.secretKey);
    context.hidden.add(credentials.sessionToken ?? "");
    return credentials;
  };
  return async (message, signal) => {
    if (ready.sigv4.role_arn === "") return hide(await ownCredentials(ready));
    if (assumed === undefined || context.nowMs() >= assumed.untilMs) {
      const own = hide(await ownCredentials(ready));
      assumed = await assumeRole(ready, own, poster, context, message, signal);
      hide(assumed.credentials);
    }
    return assumed.credentials;
  };
}

async function ownCredentials({
  accessKey,
  secretKey,
  sigv4,
  env,
}: ReadySns): Promise<AwsCredentials> {
  if (accessKey !== undefined && secretKey !== undefined)
    return { accessKey: await accessKey.read(), secretKey: await secretKey.read() };
  const found = await findAwsCredentials(env, sigv4.profile).catch((thrown: unknown) => {
    const profile = sigv4.profile || env["AWS_PROFILE"];
    throw new NotifyError(`the AWS profile "${profile}" cannot be read: ${formatError(thrown)}`, {
      retryable: true,
    });
  });
  if (found === undefined)
    throw new NotifyError(
      "there are no AWS credentials: give sigv4 access_key and secret_key, a profile, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
      { retryable: true },
    );
  return found;
}

async function assumeRole(
  { sigv4, env }: ReadySns,
  own: AwsCredentials,
  poster: NotificationPoster,
  context: ChannelContext,
  message: ChannelMessage,
  signal: AbortSignal,
): Promise<{ readonly credentials: AwsCredentials; readonly untilMs: number }> {
  const { region, role_arn, use_fips_sts_endpoint: fips } = sigv4;
  const url =
    env["AWS_ENDPOINT_URL_STS"] ??
    `https://sts${fips ? "-fips" : ""}.${region}.${amazonDomain(region)}/`;
  const body = new URLSearchParams({
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleArn: role_arn,
    RoleSessionName: `gpulse-${context.nowMs()}`,
  }).toString();
  const contentType = "application/x-www-form-urlencoded; charset=utf-8";
  const response = await poster.post({
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
        service: "sts",
        nowMs: context.nowMs(),
      },
      own,
    ),
    idempotencyKey: message.notification.idempotencyKey,
    signal,
  });
  const xml = response.body.toString("utf8");
  const field = (name: string): string =>
    new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "";
  const untilMs = Date.parse(field("Expiration")) - marginMs;
  const accessKey = field("AccessKeyId");
  if (accessKey === "" || !Number.isFinite(untilMs))
    throw new NotifyError("AWS gave no credentials for the role", { retryable: true });
  return {
    credentials: {
      accessKey,
      secretKey: field("SecretAccessKey"),
      sessionToken: field("SessionToken"),
    },
    untilMs,
  };
}
