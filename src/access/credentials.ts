/**
 * The secret a request shows, whichever way its client can. Never out of the query, where proxies and browsers write it
 * down, except for Influx 1 clients, which have no other way (`u` and `p` on /write and /query).
 *
 *   Authorization: Bearer SECRET          Prometheus, Grafana, OpenTelemetry, curl
 *   Authorization: Basic base64(u:SECRET) for clients that only know passwords; the user name is free
 *   Authorization: Token SECRET           Influx 2;  Token USER:SECRET  Influx 1
 */
import { Secret } from "../net/http/secret.ts";

export interface Credentials {
  readonly secret: Secret;
  readonly user?: string;
}

const maxChars = 1_024;

/** Undefined where there are none; what is there and makes no sense is a secret that opens nothing. */
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

/** What an Influx 1 client puts into the query. */
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
