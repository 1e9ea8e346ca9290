/** What is set up about an OpenID provider, and what its users may do here: nothing, unless a claim says so. */
import type { Secret } from "../net/http/secret.ts";
import type { Scope } from "./scope.ts";

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent of a public client, which has PKCE alone. */
  readonly clientSecret?: Secret;
  readonly scopes: string;
  /** `groups`, or a path such as `realm_access.roles`. */
  readonly roleClaim: string;
  /** The values of that claim that make an administrator, and a viewer. */
  readonly admin: readonly string[];
  readonly viewer: readonly string[];
  /** Where the provider leads back to; absent: the address the browser used. */
  readonly redirectUrl?: string;
  /** What the button says. */
  readonly label: string;
}

export type Claims = Readonly<Record<string, unknown>>;

/** Undefined: the provider knows them, and here they may do nothing. */
export function scopeOfClaims(
  claims: Claims,
  { roleClaim, admin, viewer }: Pick<OidcSettings, "roleClaim" | "admin" | "viewer">,
): Scope | undefined {
  // Who may write any address into their own account must not become somebody else by it.
  if (roleClaim === "email" && claims["email_verified"] !== true) return undefined;
  const values = valuesOf(claimAt(claims, roleClaim));
  if (values.some((value) => admin.includes(value))) return "admin";
  return values.some((value) => viewer.includes(value)) ? "read" : undefined;
}

/** By the whole name first: some providers have dots and slashes in it. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let at: unknown = claims;
  for (const key of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

const valuesOf = (claim: unknown): string[] =>
  (Array.isArray(claim) ? claim : [claim]).filter((value) => typeof value === "string");

/** What to call somebody in lists and logs. */
export function nameOfClaims(claims: Claims): string {
  for (const key of ["preferred_username", "email", "name", "sub"]) {
    const value = claims[key];
    if (typeof value === "string" && value.trim() !== "")
      return value.replace(/\p{Cc}/gu, "").slice(0, 100);
  }
  return "unnamed";
}
