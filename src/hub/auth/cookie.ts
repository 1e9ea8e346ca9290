/** The hub's cookies. By HTTPS their name prefixes make the browser refuse one set for another path, host or by plain HTTP. */
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

/** SameSite=Strict: requests from another site never carry it, not even a link from there (see `isCrossSite`). */
export const sessionCookie = (value: string, secure: boolean, maxAgeSeconds: number): string =>
  cookie("session", value, secure, maxAgeSeconds, "Strict");

/** SameSite=Lax: the provider leads back with a cross-site link, which has to carry this cookie. It grants no access. */
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
