/**
 * What a receiver of OTLP says it did not keep of a request it answered well. An answer that cannot be read says nothing.
 *
 *   ExportMetricsServiceResponse { PartialSuccess { int64 rejected_data_points = 1; string error_message = 2; } = 1; }
 */
import { ProtoError, ProtoReader } from "../../protobuf/reader.ts";

export interface PartialSuccess {
  readonly rejected: number;
  readonly message: string;
}

const nothing: PartialSuccess = { rejected: 0, message: "" };

export function readPartialSuccess(body: Buffer, isJson: boolean): PartialSuccess {
  if (body.length === 0) return nothing;
  try {
    return isJson ? readJson(body) : readProtobuf(body);
  } catch (thrown) {
    if (thrown instanceof ProtoError || thrown instanceof SyntaxError) return nothing;
    throw thrown;
  }
}

function readJson(body: Buffer): PartialSuccess {
  // Any JSON may stand there, null too.
  const answer = JSON.parse(body.toString("utf8")) as {
    partialSuccess?: { rejectedDataPoints?: unknown; errorMessage?: unknown };
  } | null;
  const { rejectedDataPoints, errorMessage } = answer?.partialSuccess ?? {};
  const rejected = Number(rejectedDataPoints ?? 0);
  return {
    rejected: Number.isFinite(rejected) ? rejected : 0,
    message: typeof errorMessage === "string" ? errorMessage : "",
  };
}

function readProtobuf(body: Buffer): PartialSuccess {
  const reader = new ProtoReader(body, 0, body.length);
  let [rejected, message] = [0, ""];
  while (reader.next()) {
    if (reader.field !== 1 || reader.wireType !== 2) {
      reader.skip();
      continue;
    }
    const partial = reader.message();
    while (partial.next()) {
      if (partial.field === 1 && partial.wireType === 0) rejected = partial.int64();
      else if (partial.field === 2 && partial.wireType === 2) message = partial.text();
      else partial.skip();
    }
  }
  return { rejected, message };
}
