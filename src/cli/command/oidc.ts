/** The keys of an OpenID provider whose users may log in to the hub. */
import * as v from "valibot";
import type { OidcSettings } from "../../access/oidc.ts";
import { text } from "../../config/fields.ts";
import { Secret } from "../../net/http/secret.ts";
import { optionalKey } from "./setting.ts";

/** Plain HTTP only for a provider on this machine: its responses decide who is an administrator. */
const providerUrl = () =>
  v.pipe(
    v.string("the https URL of the provider"),
    v.check(
      (given) =>
        URL.canParse(given) &&
        (new URL(given).protocol === "https:" ||
          /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/|$)/.test(given)),
      "an https URL (http on this machine alone)",
    ),
  );

const values = () => v.array(text("a value"), "a list of values");

export const oidcKey = optionalKey(
  v.strictObject({
    issuer: v.pipe(
      providerUrl(),
      v.description("Issuer URL of the provider; `.well-known/openid-configuration` is below it."),
    ),
    client_id: v.pipe(text("a name"), v.description("Client id of this hub at the provider.")),
    client_secret: optionalKey(
      text("a secret"),
      "As `file:PATH` or `${VARIABLE}`. Without it: a public client, with PKCE only.",
    ),
    scopes: optionalKey(text("scopes"), "Scopes to request. Default: `openid profile email`."),
    role_claim: optionalKey(
      text("a claim"),
      "The claim, or path to it, that holds the role. Default: `groups`.",
    ),
    admin: optionalKey(values(), "Values of the claim for administrators. Default: none."),
    viewer: optionalKey(values(), "Values of the claim for viewers. Default: none."),
    redirect_url: optionalKey(
      providerUrl(),
      "Redirect URI, `…/login/oidc/callback`. Default: from the address that the browser used.",
    ),
    label: optionalKey(text("a name"), "Text of the login button after `Log in with`."),
  }),
  "Lets users of an OpenID provider log in: see [access](../guides/access.md#single-sign-on).",
);

export function oidcSettings(
  given: v.InferOutput<typeof oidcKey> | undefined,
): OidcSettings | undefined {
  if (given === undefined) return undefined;
  return {
    issuer: given.issuer,
    clientId: given.client_id,
    ...(given.client_secret === undefined ? {} : { clientSecret: new Secret(given.client_secret) }),
    scopes: given.scopes ?? "openid profile email",
    roleClaim: given.role_claim ?? "groups",
    admin: given.admin ?? [],
    viewer: given.viewer ?? [],
    ...(given.redirect_url === undefined ? {} : { redirectUrl: given.redirect_url }),
    label: given.label ?? new URL(given.issuer).hostname,
  };
}
