/**
 * Validates URLs by the rules of Go's net/url, as Prometheus does for its configuration: they accept far more than HTTP can
 * request.
 */

/** Why Go cannot parse the text, or undefined: `localhost:9090/x`, `/x` and the empty text are URLs to Go. */
export function goUrlProblem(text: string): string | undefined {
  if (/\p{Cc}/u.test(text)) return "it has a control character";
  const withoutFragment = text.replace(/#.*$/s, "");
  if (withoutFragment.startsWith(":")) return "it has no scheme before the colon";
  const [, scheme, rest = ""] =
    /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(.*)$/s.exec(withoutFragment) ?? [];
  const path = rest.replace(/\?.*$/s, "");
  if (scheme !== undefined && !path.startsWith("/")) return undefined;
  if (!path.startsWith("/") && /^[^/]*:/.test(path))
    return "its first part has a colon: write http:// before it";
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) return "it has a % without two hexadecimal digits";
  if (!path.startsWith("//") || (scheme === undefined && path.startsWith("///"))) return undefined;
  const host = (path.slice(2).split("/", 1)[0] ?? "").replace(/^.*@/s, "");
  const [, bracketed, port] = /^(?:(\[[^\]]*\])|[^\s"<>[\\\]^`{|}:]*)(:\d*)?$/.exec(host) ?? [];
  if (
    bracketed === undefined &&
    port === undefined &&
    host !== "" &&
    !/^[^\s"<>[\\\]^`{|}:]+$/.test(host)
  )
    return "its host or port is not valid";
  return undefined;
}

/** True if the text is a URL with a scheme and host that can be requested over HTTP. */
export function isWebAddress(text: string): boolean {
  if (!/^https?:\/\/[^/]/i.test(text)) return false;
  return URL.canParse(text);
}
