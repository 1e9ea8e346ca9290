/** Chooses the page's format by the Accept header, as RFC 9110 weighs it. Text is what everyone can read, so it is the fallback. */
import type { PageFormat } from "./page.ts";

export function negotiateFormat(accept: string | undefined): PageFormat {
  if (accept === undefined) return "text";
  const weights: Record<PageFormat, number> = { text: 0, openmetrics: 0 };
  for (const part of accept.slice(0, 2_000).split(",")) {
    const [type = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    const weight = quality(parameters);
    const version = parameters
      .find((piece) => piece.startsWith("version="))
      ?.slice("version=".length);
    if (type === "application/openmetrics-text") {
      if (version === undefined || version === "1.0.0" || version === "0.0.1") {
        weights.openmetrics = Math.max(weights.openmetrics, weight);
      }
    } else if (type === "text/plain" || type === "text/*" || type === "*/*") {
      if (version === undefined || version === "0.0.4")
        weights.text = Math.max(weights.text, weight);
    }
  }
  return weights.openmetrics > 0 && weights.openmetrics >= weights.text ? "openmetrics" : "text";
}

/** Whether the client takes gzip: named, or covered by `*`, and not with weight 0. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  let wildcard = false;
  for (const part of (acceptEncoding ?? "").slice(0, 2_000).split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    if (coding === "gzip") return quality(parameters) > 0;
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
