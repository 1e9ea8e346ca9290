/**
 * OpenID Connect client for one provider: authorization code with PKCE, state and nonce. The library is loaded at the first
 * login, as most hubs have no provider. Tokens of the provider are discarded after the user is identified.
 */
import type * as OpenIdClient from "openid-client";
import type { Configuration } from "openid-client";
import { isLoopback } from "../guard.ts";
import { claimAt, type Claims, type OidcSettings } from "../../access/oidc.ts";
import { formatError, systemCode } from "../../base/error.ts";

type Library = typeof OpenIdClient;

/** State of a login in progress. */
export interface PendingLogin {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUrl: string;
}

/** An error sentence for the user, with the response status: 401 to try again, 502 for a failure of the provider. */
export class OidcError extends Error {
  readonly status: 401 | 502;

  constructor(status: 401 | 502, sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.status = status;
  }
}

const timeoutSeconds = 10;
/** Provider metadata rarely changes; the library refreshes the keys itself. */
const keepMs = 3_600_000;

export class OidcClient {
  readonly #settings: OidcSettings;
  readonly #nowMs: () => number;
  #found: { readonly configuration: Configuration; readonly untilMs: number } | undefined;

  constructor(settings: OidcSettings, nowMs: () => number) {
    this.#settings = settings;
    this.#nowMs = nowMs;
  }

  /** Returns the URL to redirect the browser to, and the state of the login. */
  async begin(redirectUrl: string): Promise<{ readonly url: URL; readonly login: PendingLogin }> {
    const library = await import("openid-client");
    const configuration = await this.#configuration(library);
    const login = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
      redirectUrl,
    };
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUrl,
      scope: this.#settings.scopes,
      state: login.state,
      nonce: login.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(login.verifier),
      code_challenge_method: "S256",
    });
    return { url, login };
  }

  /** Returns the claims of the user; `search` is the query string of the callback. */
  async finish(
    { state, nonce, verifier, redirectUrl }: PendingLogin,
    search: string,
  ): Promise<Claims> {
    const query = new URLSearchParams(search);
    if (query.get("state") !== state)
      throw new OidcError(401, "This response belongs to another login: log in again.");
    const refused = query.get("error");
    if (refused !== null)
      throw new OidcError(
        401,
        `The provider did not let you in: ${(query.get("error_description") ?? refused).slice(0, 200)}.`,
      );
    const library = await import("openid-client");
    const configuration = await this.#configuration(library);
    try {
      const tokens = await library.authorizationCodeGrant(
        configuration,
        new URL(`${redirectUrl}?${query.toString()}`),
        {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        },
      );
      const claims: Claims = { ...tokens.claims() };
      const { roleClaim } = this.#settings;
      const hasRole = claimAt(claims, roleClaim) !== undefined;
      if (hasRole || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
      // Many providers return groups only from the userinfo endpoint.
      const subject = typeof claims["sub"] === "string" ? claims["sub"] : "";
      const more = await library.fetchUserInfo(configuration, tokens.access_token, subject);
      return { ...more, ...claims };
    } catch (thrown) {
      throw this.#errorOf(thrown);
    }
  }

  async #configuration(library: Library): Promise<Configuration> {
    if (this.#found !== undefined && this.#found.untilMs > this.#nowMs())
      return this.#found.configuration;
    const { issuer, clientId, clientSecret } = this.#settings;
    const url = new URL(issuer);
    const plain = url.protocol === "http:" && isLoopback(url.hostname);
    try {
      const configuration = await library.discovery(
        url,
        clientId,
        undefined,
        clientSecret === undefined
          ? library.None()
          : library.ClientSecretBasic(clientSecret.reveal()),
        {
          timeout: timeoutSeconds,
          // A provider on this machine may use plain HTTP, for development.
          execute: plain ? [library.allowInsecureRequests] : [],
        },
      );
      this.#found = { configuration, untilMs: this.#nowMs() + keepMs };
      return configuration;
    } catch (thrown) {
      throw this.#errorOf(thrown);
    }
  }

  #errorOf(thrown: unknown): OidcError {
    const { issuer } = this.#settings;
    const error = field(thrown, "error");
    if (error === "invalid_grant")
      return new OidcError(401, "The provider no longer accepts this login: log in again.", {
        cause: thrown,
      });
    if (error === "invalid_client" || systemCode(thrown) === "OAUTH_WWW_AUTHENTICATE_CHALLENGE")
      return new OidcError(
        502,
        "The provider does not know this hub: check client_id and client_secret of hub.oidc.",
        { cause: thrown },
      );
    const why = error ?? systemCode(rootOf(thrown)) ?? formatError(rootOf(thrown));
    return new OidcError(
      502,
      `Logging in with ${issuer} does not work right now (${why.slice(0, 200)}): try again, or log in with a user or token of this hub.`,
      { cause: thrown },
    );
  }
}

function rootOf(thrown: unknown): unknown {
  let at = thrown;
  for (let depth = 0; depth < 5 && at instanceof Error && at.cause instanceof Error; depth++)
    at = at.cause;
  return at;
}

function field(thrown: unknown, name: string): string | undefined {
  const value: unknown =
    typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, name) : undefined;
  return typeof value === "string" ? value : undefined;
}
