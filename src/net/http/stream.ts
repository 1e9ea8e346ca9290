/** A streaming response, line by line. Bounded by line length and idle time, since a stream has no overall deadline. */
import type http from "node:http";
import { formatUrl, type HttpAgent, HttpRequestError } from "./request.ts";

export interface StreamOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent: HttpAgent;
  /** Idle timeout. */
  readonly silenceMs: number;
  readonly maxLineBytes: number;
  readonly signal: AbortSignal;
}

export interface LineStream {
  readonly status: number;
  /** Read the generator to its end, or leave the loop with `break`, which closes the connection. */
  readonly lines: AsyncGenerator<string, void>;
}

export function streamLines(address: string, options: StreamOptions): Promise<LineStream> {
  const url = new URL(address);
  const { agent, headers, signal, silenceMs } = options;
  return new Promise((resolve, reject) => {
    const sent = agent.request(url, { headers: { ...headers }, signal });
    sent.setTimeout(silenceMs, () =>
      sent.destroy(
        new HttpRequestError("timeout", `${formatUrl(url)} was silent for ${silenceMs / 1_000} s`),
      ),
    );
    sent.on("error", (thrown) => reject(toStreamError(thrown, url, signal)));
    sent.on("response", (answer) =>
      resolve({ status: answer.statusCode ?? 0, lines: linesOf(answer, url, options) }),
    );
    sent.end();
  });
}

async function* linesOf(
  answer: http.IncomingMessage,
  url: URL,
  { maxLineBytes, signal }: StreamOptions,
): AsyncGenerator<string, void> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        yield Buffer.concat([...rest, chunk.subarray(from, end)]).toString("utf8");
        rest = [];
        restBytes = 0;
        from = end + 1;
      }
      rest.push(chunk.subarray(from));
      restBytes += chunk.length - from;
      if (restBytes > maxLineBytes)
        throw new HttpRequestError(
          "too-large",
          `a line of the answer is larger than ${maxLineBytes} bytes`,
        );
    }
    if (restBytes > 0) yield Buffer.concat(rest).toString("utf8");
  } catch (thrown) {
    throw toStreamError(thrown, url, signal);
  } finally {
    answer.destroy();
  }
}

function toStreamError(thrown: unknown, url: URL, signal: AbortSignal): HttpRequestError {
  if (thrown instanceof HttpRequestError) return thrown;
  if (signal.aborted)
    return new HttpRequestError("aborted", `the request to ${formatUrl(url)} was given up`);
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new HttpRequestError("connection", `${formatUrl(url)}: ${why}`, { cause: thrown });
}
