/**
 * Responses to an OTLP metrics request, in either encoding.
 *
 *   ExportMetricsServiceResponse { PartialSuccess partial_success = 1 }
 *   PartialSuccess { int64 rejected_data_points = 1; string error_message = 2 }
 *   google.rpc.Status { int32 code = 1; string message = 2 }
 */

/** A full success if nothing was rejected and there is no message. */
export function partialSuccess(rejected: number, message: string, json: boolean): Buffer {
  const isWhole = rejected === 0 && message === "";
  if (json)
    return Buffer.from(
      JSON.stringify(
        isWhole
          ? {}
          : { partialSuccess: { rejectedDataPoints: String(rejected), errorMessage: message } },
      ),
    );
  if (isWhole) return Buffer.alloc(0);
  const inner = numberAndText(rejected, message);
  return Buffer.concat([Buffer.from([0x0a, ...varint(inner.length)]), inner]);
}

export function statusMessage(code: number, message: string, json: boolean): Buffer {
  return json ? Buffer.from(JSON.stringify({ code, message })) : numberAndText(code, message);
}

function numberAndText(number: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([
    Buffer.from([0x08, ...varint(number), 0x12, ...varint(bytes.length)]),
    bytes,
  ]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}
