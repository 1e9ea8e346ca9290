/** Settings of an OpenID provider, and the scope of its users: none, unless a claim grants one. */
import type { Secret } from "../net/http/secret.ts";
import type { Scope } from "./scope.ts";

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client, which uses PKCE alone. */
  readonly clientSecret?: Secret;
  readonly scopes: string;
  /** `groups`, or a path such as `realm_access.roles`. */
  readonly roleClaim: string;
  /** Values of that claim that grant the administrator and the viewer role. */
  readonly admin: readonly string[];
  readonly viewer: readonly string[];
  /** The callback URL registered with the provider; absent: derived from the address the browser used. */
  readonly redirectUrl?: string;
  /** Label of the login button. */
  readonly label: string;
}

export type Claims = Readonly<Record<string, unknown>>;

/** Returns undefined if the provider authenticated the user but no claim grants a role here. */
export function scopeOfClaims(
  claims: Claims,
  { roleClaim, admin, viewer }: Pick<OidcSettings, "roleClaim" | "admin" | "viewer">,
): Scope | undefined {
  // At some providers users set any email address themselves; an unverified one must not grant another user's role.
  if (roleClaim === "email" && claims["email_verified"] !== true) return undefined;
  const values = valuesOf(claimAt(claims, roleClaim));
  if (values.some((value) => admin.includes(value))) return "admin";
  return values.some((value) => viewer.includes(value)) ? "read" : undefined;
}

/** Tries the whole name first: some providers use claim names with dots and slashes. */
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

/** The display name of a user, for lists and logs. */
export function nameOfClaims(claims: Claims): string {
  for (const key of ["preferred_username", "email", "name", "sub"]) {
    const value = claims[key];
    if (typeof value === "string" && value.trim() !== "")
      return value.replace(/\p{Cc}/gu, "").slice(0, 100);
  }
  return "unnamed";
}
