/**
 * Reads the credentials of a request. The query string is never read, because proxies and browsers log it, except for Influx 1
 * clients, which support nothing else (`u` and `p` on /write and /query).
 *
 *   Authorization: Bearer SECRET          Prometheus, Grafana, OpenTelemetry, curl
 *   Authorization: Basic base64(u:SECRET) for clients that only support passwords; any user name
 *   Authorization: Token SECRET           Influx 2;  Token USER:SECRET  Influx 1
 */
import { Secret } from "../net/http/secret.ts";

export interface Credentials {
  readonly secret: Secret;
  readonly user?: string;
}

const maxChars = 1_024;

/** Returns undefined without a header. A malformed header yields a secret that matches nothing. */
export function credentialsOf(authorization: string | undefined): Credentials | undefined {
  if (authorization === undefined || authorization === "") return undefined;
  const [, scheme = "", rest = ""] = /^(\S+)\s*(.*)$/s.exec(authorization.slice(0, maxChars)) ?? [];
  switch (scheme.toLowerCase()) {
    case "bearer":
      return { secret: new Secret(rest.trim()) };
    case "basic":
      return splitUser(Buffer.from(rest, "base64").toString("utf8"));
    case "token":
      return rest.includes(":") ? splitUser(rest.trim()) : { secret: new Secret(rest.trim()) };
    default:
      return { secret: new Secret("") };
  }
}

/** Credentials of an Influx 1 client, from the query string. */
export function influxCredentials(query: URLSearchParams): Credentials | undefined {
  const [user, password] = [query.get("u"), query.get("p")];
  if (password === null || password === "") return undefined;
  return { secret: new Secret(password.slice(0, maxChars)), ...(user === null ? {} : { user }) };
}

function splitUser(text: string): Credentials {
  const at = text.indexOf(":");
  return at === -1
    ? { secret: new Secret(text) }
    : { user: text.slice(0, at), secret: new Secret(text.slice(at + 1)) };
}
