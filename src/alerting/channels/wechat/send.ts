/**
 * Posts to WeChat Work. A message needs an access token, which is fetched with the application's secret and reused until shortly
 * before it expires. The service reports errors with status 200 and an errcode in the JSON.
 */
import { NotifyError } from "../../route/notification.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { HttpResponse } from "../../../net/http/request.ts";
import type { ChannelContext, ChannelMessage, OpenChannel } from "../channel.ts";
import { NotificationPoster } from "../post.ts";
import { compileAll, printAll, readSecret, urlBelow, withoutEmpty } from "../render.ts";
import type { SecretText } from "../secret-text.ts";

export interface ReadyWechat {
  readonly secretText: SecretText;
  readonly corpId: string;
  readonly url: string;
  readonly http: HttpClientConfig;
  readonly message: string;
  readonly message_type: "text" | "markdown" | "";
  readonly agent_id: string;
  readonly to_user: string;
  readonly to_party: string;
  readonly to_tag: string;
}

interface Response {
  readonly errcode?: unknown;
  readonly errmsg?: unknown;
  readonly access_token?: unknown;
  readonly expires_in?: unknown;
}

interface Token {
  readonly text: string;
  readonly untilMs: number;
}

/** The lifetime of a token if the response has none: two hours. */
const tokenSeconds = 7_200;
const marginMs = 60_000;
/** 40014: invalid token; 42001: expired token. */
const tokenRefused = new Set([40_014, 42_001]);
/** -1: busy; 45009: too many requests. */
const busy = new Set([-1, 45_009]);

export function openWechat(ready: ReadyWechat, context: ChannelContext): OpenChannel {
  const poster = new NotificationPoster("WeChat", ready.http, context.hidden, context.nowMs);
  const { message: words, agent_id, to_user, to_party, to_tag, corpId } = ready;
  const texts = compileAll({ words, agent_id, to_user, to_party, to_tag, corpId }, context);
  // One per corporation and secret: both may be templates.
  const tokens = new Map<string, Token>();

  const fetchToken = async (
    identity: URLSearchParams,
    message: ChannelMessage,
    signal: AbortSignal,
  ): Promise<Token> => {
    const response = await poster.exchange({
      method: "GET",
      url: `${urlBelow(ready.url, "gettoken")}?${identity.toString()}`,
      idempotencyKey: message.notification.idempotencyKey,
      signal,
    });
    const { access_token: text, expires_in: lasts } = read(response, poster);
    if (typeof text !== "string" || text === "")
      throw new NotifyError("WeChat gave no access token: check corp_id and api_secret", {
        retryable: false,
      });
    context.hidden.add(text);
    const seconds = typeof lasts === "number" && lasts > 0 ? lasts : tokenSeconds;
    return { text, untilMs: context.nowMs() + seconds * 1_000 - marginMs };
  };

  return {
    send: async (message, signal) => {
      const text = printAll(texts, message);
      const identity = new URLSearchParams({
        corpid: text.corpId,
        corpsecret: await readSecret(ready.secretText, message, context),
      });
      const name = identity.toString();
      const known = tokens.get(name);
      const token =
        known !== undefined && context.nowMs() < known.untilMs
          ? known
          : await fetchToken(identity, message, signal);
      tokens.clear();
      tokens.set(name, token);
      const type = ready.message_type === "markdown" ? "markdown" : "text";
      const response = await poster.exchange({
        url: `${urlBelow(ready.url, "message/send")}?${new URLSearchParams({ access_token: token.text }).toString()}`,
        body: JSON.stringify({
          ...withoutEmpty({
            touser: text.to_user,
            toparty: text.to_party,
            totag: text.to_tag,
            agentid: text.agent_id,
          }),
          safe: "0",
          msgtype: type,
          [type]: { content: text.words },
        }),
        idempotencyKey: message.notification.idempotencyKey,
        signal,
      });
      read(response, poster, () => tokens.clear());
    },
    close: () => {
      tokens.clear();
      poster.close();
    },
  };
}

/** @throws NotifyError unless the errcode is 0. */
function read(
  response: HttpResponse,
  poster: NotificationPoster,
  forgetToken?: () => void,
): Response {
  const { status } = response;
  if (status !== 200) {
    const { message } = poster.refused(response, `answered ${status}`);
    throw new NotifyError(message, { retryable: true });
  }
  let result: Response | null;
  try {
    result = JSON.parse(response.body.toString("utf8")) as Response | null;
  } catch {
    throw new NotifyError("WeChat's response is not JSON", { retryable: true });
  }
  const code = Number(result?.errcode ?? 0);
  if (code === 0) return result ?? {};
  if (tokenRefused.has(code)) forgetToken?.();
  throw new NotifyError(
    `WeChat rejected the message with error ${code}: ${String(result?.errmsg)}`,
    {
      retryable: tokenRefused.has(code) || busy.has(code),
    },
  );
}
