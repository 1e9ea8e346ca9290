/** Fetches a JSON page of a running agent or hub from the command line, with a timeout, a size limit, and schema validation. */
import type { GenericSchema, InferOutput } from "valibot";
import { GpulseError, formatError } from "../base/error.ts";
import { checkValue } from "../config/check.ts";
import { HttpAgent, request, formatUrl } from "../net/http/request.ts";
import type { ClientAccess } from "./command/client.ts";

const maxAnswerBytes = 64 * 1024 * 1024;

/** @param given the URL of `--url`; a path in it replaces `path` */
export async function fetchPage<Schema extends GenericSchema>(
  given: string,
  path: string,
  schema: Schema,
  { token, ca }: ClientAccess,
): Promise<InferOutput<Schema>> {
  const base = URL.canParse(given) ? new URL(given) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol)) {
    throw new GpulseError(
      "USAGE",
      `--url must be a URL such as http://gpu-node:9400, not "${given}".`,
    );
  }
  const url = base.pathname === "/" ? new URL(path, base) : base;
  let body: unknown;
  const agent = new HttpAgent(ca === undefined ? {} : { ca });
  try {
    const answer = await request(url.href, {
      headers: {
        accept: "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
      },
      agent,
      timeoutMs: 10_000,
      maxBytes: maxAnswerBytes,
    });
    if (answer.status !== 200) throw new Error(`it answered ${answer.status}`);
    body = JSON.parse(answer.body.toString("utf8"));
  } catch (thrown) {
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
    throw new GpulseError(
      "AGENT_UNREACHABLE",
      `No gpulse answers at ${formatUrl(url)} (${formatError(cause)}). Start one with gpulse agent, or correct --url.`,
      { cause: thrown },
    );
  } finally {
    agent.close();
  }
  const checked = checkValue(schema, body);
  if (!checked.ok)
    throw new GpulseError(
      "AGENT_UNREACHABLE",
      `The server at ${formatUrl(url)} is not a compatible gpulse: ${checked.problems[0]?.sentence ?? ""}`,
    );
  return checked.value;
}
