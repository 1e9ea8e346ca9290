/** The cookie of a session. By HTTPS its name makes the browser itself refuse one set for another path, host or by plain HTTP. */
const nameOf = (secure: boolean): string => (secure ? "__Host-gpulse_session" : "gpulse_session");

export function sessionOf(header: string | undefined, secure: boolean): string | undefined {
  const name = nameOf(secure);
  for (const part of (header ?? "").split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name && value !== undefined && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}

export const sessionCookie = (value: string, secure: boolean, maxAgeSeconds: number): string =>
  [
    `${nameOf(secure)}=${value}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${maxAgeSeconds}`,
    ...(secure ? ["Secure"] : []),
  ].join("; ");
