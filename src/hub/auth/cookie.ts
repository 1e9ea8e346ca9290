/** Our cookies. By HTTPS their names make the browser itself refuse one set for another path, host or by plain HTTP. */
export type CookieName = "session" | "login";

const nameOf = (name: CookieName, secure: boolean): string =>
  `${secure ? "__Host-" : ""}gpulse_${name}`;

export const sessionOf = (header: string | undefined, secure: boolean): string | undefined =>
  cookieOf("session", header, secure);

export function cookieOf(
  which: CookieName,
  header: string | undefined,
  secure: boolean,
): string | undefined {
  const name = nameOf(which, secure);
  for (const part of (header ?? "").split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name && value !== undefined && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}

/** Strict: no request that another site causes carries it, not even a link from there (see `fromElsewhere`). */
export const sessionCookie = (value: string, secure: boolean, maxAgeSeconds: number): string =>
  cookie("session", value, secure, maxAgeSeconds, "Strict");

/** Lax: the provider's page leads back here with a link, and this one, which opens nothing, has to come along. */
export const loginCookie = (value: string, secure: boolean, maxAgeSeconds: number): string =>
  cookie("login", value, secure, maxAgeSeconds, "Lax");

const cookie = (
  name: CookieName,
  value: string,
  secure: boolean,
  maxAgeSeconds: number,
  sameSite: "Strict" | "Lax",
): string =>
  [
    `${nameOf(name, secure)}=${value}`,
    "Path=/",
    "HttpOnly",
    `SameSite=${sameSite}`,
    `Max-Age=${Math.max(0, Math.floor(maxAgeSeconds))}`,
    ...(secure ? ["Secure"] : []),
  ].join("; ");
