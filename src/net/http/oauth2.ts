/**
 * Tokens of OAuth 2.0's client credentials grant (RFC 6749, 4.4), fetched when the first request needs one and again
 * shortly before it expires. Never shows a secret.
 */
import type { ProxyConfig } from "./proxy.ts";
import {
  formatUrl,
  type HttpAgent,
  HttpRequestError,
  type HttpResponse,
  request,
} from "./request.ts";
import type { Secret } from "./secret.ts";
import type { TlsConfig } from "./auth-config.ts";

/** Prometheus's `oauth2`. */
export interface OAuth2Config {
  readonly clientId: string;
  readonly clientSecret?: Secret;
  readonly clientSecretFile?: string;
  readonly tokenUrl: string;
  readonly scopes: readonly string[];
  readonly endpointParams: Readonly<Record<string, string>>;
  /** TLS options of token requests. */
  readonly tls: TlsConfig;
  readonly proxy?: ProxyConfig;
}

/** The connection to the token server, and the client's secret. */
export interface TokenConnection {
  readonly agent: () => Promise<HttpAgent>;
  readonly clientSecret: () => Promise<string>;
  readonly nowMs: () => number;
}

const timeoutMs = 10_000;
const maxBytes = 1024 * 1024;
/** Tokens are renewed this long before they expire, as in Go. */
const marginMs = 10_000;

export class TokenSource {
  readonly #config: OAuth2Config;
  readonly #connection: TokenConnection;
  #header = "";
  #untilMs = 0;
  #fetching: Promise<string> | undefined;
  /** Some servers read the client's id and secret only from the header, others only from the body. */
  #showsInBody = false;

  constructor(config: OAuth2Config, connection: TokenConnection) {
    this.#config = config;
    this.#connection = connection;
  }

  /** The value of the Authorization header. @throws HttpRequestError */
  async header(): Promise<string> {
    if (this.#header !== "" && this.#connection.nowMs() < this.#untilMs) return this.#header;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<string> {
    let response = await this.#ask(this.#showsInBody);
    if (response.status < 200 || response.status >= 300) {
      const other = await this.#ask(!this.#showsInBody);
      if (other.status >= 200 && other.status < 300) this.#showsInBody = !this.#showsInBody;
      response = other.status < 300 ? other : response;
    }
    const where = formatUrl(new URL(this.#config.tokenUrl));
    if (response.status < 200 || response.status >= 300)
      throw new HttpRequestError(
        "connection",
        `${where} gave no token: it answered ${response.status}`,
      );
    const { access_token: token, token_type: type, expires_in: seconds } = parsed(response);
    if (typeof token !== "string" || !/^[\t -~]+$/.test(token))
      throw new HttpRequestError("connection", `${where} returned no token`);
    const scheme = typeof type === "string" && /^[\w-]+$/.test(type) ? type : "Bearer";
    const lastsMs = Number(seconds) > 0 ? Number(seconds) * 1_000 - marginMs : Infinity;
    this.#header = `${scheme.toLowerCase() === "bearer" ? "Bearer" : scheme} ${token}`;
    this.#untilMs = this.#connection.nowMs() + lastsMs;
    return this.#header;
  }

  async #ask(inBody: boolean): Promise<HttpResponse> {
    const { clientId, tokenUrl, scopes, endpointParams } = this.#config;
    const secret = await this.#connection.clientSecret();
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`;
    const body = new URLSearchParams({
      grant_type: "client_credentials",
      ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
      ...endpointParams,
      ...(inBody ? { client_id: clientId, client_secret: secret } : {}),
    });
    return request(tokenUrl, {
      method: "POST",
      body: body.toString(),
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        ...(inBody ? {} : { authorization: `Basic ${Buffer.from(pair).toString("base64")}` }),
      },
      agent: await this.#connection.agent(),
      timeoutMs,
      maxBytes,
    });
  }
}

function parsed({ body }: HttpResponse): Readonly<Record<string, unknown>> {
  const text = body.toString("utf8");
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    // Some servers respond with a form-encoded body.
    return Object.fromEntries(new URLSearchParams(text));
  }
}
