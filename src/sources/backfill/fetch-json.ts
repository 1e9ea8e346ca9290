/** One question to an engine over HTTP, with a deadline, answered with JSON or with what to do. */
import { GpulseError } from "../../base/error.ts";
import { type HttpAgent, HttpRequestError, request } from "../../net/http/request.ts";

export interface BackfillConnection {
  readonly agent: HttpAgent;
  readonly origin: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

export async function fetchEngineJson(
  { agent, origin, username, password }: BackfillConnection,
  path: string,
  form: URLSearchParams,
  signal: AbortSignal,
): Promise<unknown> {
  const basic = Buffer.from(`${username ?? ""}:${password ?? ""}`).toString("base64");
  const answer = await request(`${origin}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...(username === undefined ? {} : { authorization: `Basic ${basic}` }),
    },
    body: form.toString(),
    timeoutMs: 120_000,
    maxBytes: 512 * 2 ** 20,
    agent,
    signal,
  }).catch((thrown: unknown) => {
    if (!(thrown instanceof HttpRequestError) || signal.aborted) throw thrown;
    throw new GpulseError(
      "QUERY_FAILED",
      `${origin} does not answer (${thrown.message}): check the address, or ask for less at a time with window=.`,
      { cause: thrown },
    );
  });
  const text = answer.body.toString("utf8");
  if (answer.status === 401 || answer.status === 403)
    throw new GpulseError("ACCESS_REFUSED", `${origin} refuses: give username= and password=.`);
  if (answer.status !== 200)
    throw new GpulseError(
      "QUERY_FAILED",
      `${origin} answered ${answer.status}: ${text.slice(0, 300)}`,
    );
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new GpulseError(
      "QUERY_FAILED",
      `${origin} answered with no JSON: is it the right address?`,
      {
        cause: thrown,
      },
    );
  }
}
