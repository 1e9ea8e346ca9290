// Validates client requests to the gateway; an error states what is expected.

import type { BatchWork, CompletionWork } from "../queue/job.ts";
import { HttpError } from "../run/http.ts";

const MOST_TOKENS = 2_048;
const MOST_BATCH_SECONDS = 3_600;

export function completionAsked(body: unknown): CompletionWork {
  const given = objectOf(body);
  const { prompt } = given;
  if (typeof prompt !== "string" || prompt === "")
    throw invalid("prompt must be a text that is not empty");
  const maxTokens = given["max_tokens"] ?? 64;
  if (!isWhole(maxTokens) || maxTokens < 1 || maxTokens > MOST_TOKENS)
    throw invalid(`max_tokens must be a whole number from 1 to ${MOST_TOKENS}`);
  return { prompt, maxTokens };
}

export function batchAsked(body: unknown): BatchWork {
  const given = objectOf(body);
  const { gpu, seconds = 60 } = given;
  if (typeof seconds !== "number" || seconds <= 0 || seconds > MOST_BATCH_SECONDS)
    throw invalid(`seconds must be a number above 0 and up to ${MOST_BATCH_SECONDS}`);
  if (gpu === undefined) return { seconds };
  if (!isWhole(gpu) || gpu < 0) throw invalid("gpu must be a whole number from 0");
  return { seconds, gpu };
}

/** The GPUs that request work in an Alertmanager webhook; resolved and unrelated alerts are ignored. */
export function idleGpus(body: unknown): number[] {
  const { alerts } = objectOf(body);
  if (!Array.isArray(alerts))
    throw invalid("this takes an Alertmanager's webhook: an object with alerts");
  const gpus = alerts.flatMap((alert: unknown) => {
    const { status, labels } = objectOf(alert);
    const { alertname, gpu } = objectOf(labels);
    const index = typeof gpu === "string" && gpu !== "" ? Number(gpu) : Number.NaN;
    return status === "firing" && alertname === "GpuIdle" && isWhole(index) ? [index] : [];
  });
  return [...new Set(gpus)];
}

function objectOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === "object" && body !== null && !Array.isArray(body))
    return body as Readonly<Record<string, unknown>>;
  throw invalid("the body must be a JSON object");
}

function isWhole(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value);
}

function invalid(message: string): HttpError {
  return new HttpError(400, "invalid_request", message);
}
