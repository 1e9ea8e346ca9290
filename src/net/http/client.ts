/**
 * Sends requests with one HTTP client configuration: headers and TLS options. Files are read again when they change. Never shows a
 * secret.
 */
import type { HttpClientConfig } from "./auth-config.ts";
import { ReloadingFile } from "./reloading-file.ts";
import { TokenSource } from "./oauth2.ts";
import { type ProxyFor, proxyRoutes } from "./proxy.ts";
import { HttpAgent, HttpRequestError, type TlsOptions } from "./request.ts";
import type { Secret } from "./secret.ts";

/** The same limit as Go's. */
const maxRedirects = 10;

/** Returns a literal text, or the content of a file. */
type TextProvider = (() => Promise<string>) | undefined;

interface ClientOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: HttpAgent;
  readonly maxRedirects?: number;
}

export class HttpClient {
  readonly config: HttpClientConfig;
  readonly #maxSockets: number;
  readonly #proxyFor: ProxyFor | undefined;
  readonly #username: TextProvider;
  readonly #password: TextProvider;
  readonly #credentials: TextProvider;
  readonly #headers: readonly (readonly [name: string, values: readonly TextProvider[]])[];
  readonly #ca: TextProvider;
  readonly #cert: TextProvider;
  readonly #key: TextProvider;
  readonly #tokens: TokenSource | undefined;
  /** For token requests, which have their own TLS options and proxy. */
  readonly #tokenClient: HttpClient | undefined;
  #agent: HttpAgent | undefined;
  /** The previous agent: its connections may still be in use. */
  #agentBefore: HttpAgent | undefined;
  #agentMade = "";
  #isClosed = false;
  /** True if no file and no token server is read, so that the options never change. */
  readonly #isConstant: boolean;
  #constant: ClientOptions | undefined;

  /** @param maxSockets per address; further requests wait for a free socket */
  constructor(config: HttpClientConfig, maxSockets = 16) {
    this.config = config;
    this.#maxSockets = maxSockets;
    this.#proxyFor = config.proxy && proxyRoutes(config.proxy, process.env);
    const { basicAuth, authorization, oauth2, tls } = config;
    const watchedFiles = [
      basicAuth?.usernameFile,
      basicAuth?.passwordFile,
      authorization?.credentialsFile,
      tls.caFile,
      tls.certFile,
      tls.keyFile,
      ...config.headers.flatMap(({ files: some }) => some),
    ];
    this.#isConstant = oauth2 === undefined && watchedFiles.every((file) => file === undefined);
    if (oauth2 !== undefined) {
      const { clientSecret, clientSecretFile, proxy } = oauth2;
      const client = new HttpClient({
        tls: oauth2.tls,
        followRedirects: false,
        headers: [],
        ...(proxy === undefined ? {} : { proxy }),
      });
      const secret = wanted("the client's secret", clientSecret, clientSecretFile);
      this.#tokenClient = client;
      this.#tokens = new TokenSource(oauth2, {
        agent: async () => (await client.options()).agent,
        clientSecret: async () => (await secret?.()) ?? "",
        nowMs: () => performance.now(),
      });
    }
    this.#username = wanted("the user name", basicAuth?.username, basicAuth?.usernameFile);
    this.#password = wanted("the password", basicAuth?.password, basicAuth?.passwordFile);
    this.#credentials = wanted(
      "the credentials",
      authorization?.credentials,
      authorization?.credentialsFile,
    );
    this.#headers = config.headers.map(({ name, values, secrets, files }) => [
      name.toLowerCase(),
      [
        ...[...values, ...secrets].map((value) => wanted("", value, undefined)),
        ...files.map((file) => wanted(`a value of the header ${name}`, undefined, file)),
      ],
    ]);
    this.#ca = wanted("the CA", tls.ca, tls.caFile, false);
    this.#cert = wanted("the certificate", tls.cert, tls.certFile, false);
    this.#key = wanted("the key", tls.key, tls.keyFile, false);
  }

  /** Headers, agent and redirect limit for `request`. */
  async options(): Promise<ClientOptions> {
    if (this.#constant !== undefined && !this.#isClosed) return this.#constant;
    const [headers, agent] = await Promise.all([this.#readHeaders(), this.#readAgent()]);
    const options = { headers, agent, ...(this.config.followRedirects ? { maxRedirects } : {}) };
    if (this.#isConstant) this.#constant = options;
    return options;
  }

  close(): void {
    this.#isClosed = true;
    this.#tokenClient?.close();
    this.#agent?.close();
    this.#agentBefore?.close();
  }

  async #readHeaders(): Promise<Record<string, string>> {
    const { basicAuth, authorization } = this.config;
    const headers: Record<string, string> = {};
    for (const [name, values] of this.#headers) {
      const texts = await Promise.all(values.map(async (value) => (await value?.()) ?? ""));
      headers[name] = sendable(name, texts.join(", "));
    }
    if (basicAuth !== undefined) {
      const pair = `${(await this.#username?.()) ?? ""}:${(await this.#password?.()) ?? ""}`;
      headers["authorization"] = `Basic ${Buffer.from(pair).toString("base64")}`;
    } else if (authorization !== undefined) {
      const text = `${authorization.type} ${(await this.#credentials?.()) ?? ""}`;
      headers["authorization"] = sendable("authorization", text);
    } else if (this.#tokens !== undefined) {
      headers["authorization"] = await this.#tokens.header();
    }
    return headers;
  }

  /** Reuses the agent until a TLS file changes. */
  async #readAgent(): Promise<HttpAgent> {
    const { tls } = this.config;
    const [ca, cert, key] = await Promise.all([this.#ca?.(), this.#cert?.(), this.#key?.()]);
    if (this.#isClosed) throw new HttpRequestError("aborted", "the client is closed");
    const made = JSON.stringify([ca, cert, key]);
    if (this.#agent !== undefined && made === this.#agentMade) return this.#agent;
    const options: TlsOptions = {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
      ...(tls.insecureSkipVerify ? { rejectUnauthorized: false } : {}),
      ...(tls.minVersion === undefined ? {} : { minVersion: tls.minVersion }),
      ...(tls.maxVersion === undefined ? {} : { maxVersion: tls.maxVersion }),
    };
    // Closing an agent aborts its requests, so the previous agent is closed only at the next change.
    this.#agentBefore?.close();
    this.#agentBefore = this.#agent;
    this.#agent = new HttpAgent(options, this.#maxSockets, this.#proxyFor);
    this.#agentMade = made;
    return this.#agent;
  }
}

function wanted(
  what: string,
  value: string | Secret | undefined,
  path: string | undefined,
  isTrimmed = true,
): TextProvider {
  if (value !== undefined) {
    const text = typeof value === "string" ? value : value.reveal();
    return () => Promise.resolve(text);
  }
  if (path === undefined) return undefined;
  const file = new ReloadingFile(path, what);
  return async () => (isTrimmed ? (await file.text()).trim() : file.text());
}

/** Like Node's, the error names the invalid header but not its value. */
function sendable(name: string, text: string): string {
  if (/[^\t -~\u0080-\u00ff]/.test(text))
    throw new HttpRequestError("connection", `the header ${name} has an invalid value`);
  return text;
}
