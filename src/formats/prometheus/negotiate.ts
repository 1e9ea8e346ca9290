/** Chooses the page's format by the Accept header's weights (RFC 9110). The fallback is text, which every client can read. */
import type { PageFormat } from "./page.ts";

type Weights = Record<PageFormat | "protobuf", number>;

export function negotiateFormat(accept: string | undefined): PageFormat {
  const { text, openmetrics } = weightsOf(accept);
  return openmetrics > 0 && openmetrics >= text ? "openmetrics" : "text";
}

/** True if the client prefers delimited protobuf to all text formats. */
export function prefersProtobuf(accept: string | undefined): boolean {
  const { text, openmetrics, protobuf } = weightsOf(accept);
  return protobuf > 0 && protobuf >= openmetrics && protobuf >= text;
}

function weightsOf(accept: string | undefined): Weights {
  const weights: Weights = { text: 0, openmetrics: 0, protobuf: 0 };
  if (accept === undefined) return weights;
  for (const part of accept.slice(0, 2_000).split(",")) {
    const [type = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    const weight = quality(parameters);
    const version = parameters
      .find((piece) => piece.startsWith("version="))
      ?.slice("version=".length);
    if (type === "application/vnd.google.protobuf") {
      const isDelimited =
        parameters.includes("encoding=delimited") &&
        parameters.includes("proto=io.prometheus.client.metricfamily");
      if (isDelimited) weights.protobuf = Math.max(weights.protobuf, weight);
    } else if (type === "application/openmetrics-text") {
      if (version === undefined || version === "1.0.0" || version === "0.0.1") {
        weights.openmetrics = Math.max(weights.openmetrics, weight);
      }
    } else if (type === "text/plain" || type === "text/*" || type === "*/*") {
      if (version === undefined || version === "0.0.4")
        weights.text = Math.max(weights.text, weight);
    }
  }
  return weights;
}

export const acceptsGzip = (acceptEncoding: string | undefined): boolean =>
  acceptsEncoding(acceptEncoding, "gzip");

/** True if the client accepts this encoding: named, or covered by `*`, and not with weight 0. */
export function acceptsEncoding(acceptEncoding: string | undefined, encoding: string): boolean {
  let wildcard = false;
  for (const part of (acceptEncoding ?? "").slice(0, 2_000).split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    if (coding === encoding) return quality(parameters) > 0;
    if (coding === "*") wildcard = quality(parameters) > 0;
  }
  return wildcard;
}

function quality(parameters: readonly string[]): number {
  const text = parameters.find((piece) => piece.startsWith("q="));
  if (text === undefined) return 1;
  const weight = Number(text.slice(2));
  return weight >= 0 && weight <= 1 ? weight : 0;
}
