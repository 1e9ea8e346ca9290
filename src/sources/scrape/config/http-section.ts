/** The keys of an HTTP client: its authentication, and TLS verification of the server. */
import * as v from "valibot";
import type {
  Authorization,
  BasicAuth,
  HeaderConfig,
  HttpClientConfig,
  TlsConfig,
} from "../../../net/http/auth-config.ts";
import { defined } from "../../../base/defined.ts";
import type { OAuth2Config } from "../../../net/http/oauth2.ts";
import { parseProxy, type ProxyConfig } from "../../../net/http/proxy.ts";
import { Secret } from "../../../net/http/secret.ts";
import { list, mappingOf, scalar, yamlBoolean } from "../../../config/yaml/fields.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import {
  unsupportedAuthorizationKeys,
  unsupportedBasicAuthKeys,
  unsupportedEntries,
  unsupportedOauth2Keys,
  reportUnsupported,
  unsupportedTlsKeys,
} from "./unsupported.ts";

const versions = { TLS10: "TLSv1", TLS11: "TLSv1.1", TLS12: "TLSv1.2", TLS13: "TLSv1.3" } as const;
const versionNames = ["TLS10", "TLS11", "TLS12", "TLS13"] as const;

const optionalText = () => v.optional(scalar());
const version = () => v.optional(v.picklist(versionNames, `one of ${versionNames.join(", ")}`));

const tlsSchema = v.strictObject({
  ca: optionalText(),
  ca_file: optionalText(),
  cert: optionalText(),
  cert_file: optionalText(),
  key: optionalText(),
  key_file: optionalText(),
  server_name: optionalText(),
  insecure_skip_verify: v.optional(yamlBoolean(), false),
  min_version: version(),
  max_version: version(),
  ...unsupportedEntries(unsupportedTlsKeys),
});

const proxyEntries = {
  proxy_url: optionalText(),
  no_proxy: optionalText(),
  proxy_from_environment: v.optional(yamlBoolean(), false),
  proxy_connect_header: mappingOf(v.array(scalar(), "a list")),
};

const proxySchema = v.object(proxyEntries);
type ProxyRaw = v.InferOutput<typeof proxySchema>;

export const httpEntries = {
  basic_auth: v.optional(
    v.strictObject({
      username: optionalText(),
      username_file: optionalText(),
      password: optionalText(),
      password_file: optionalText(),
      ...unsupportedEntries(unsupportedBasicAuthKeys),
    }),
  ),
  authorization: v.optional(
    v.strictObject({
      type: optionalText(),
      credentials: optionalText(),
      credentials_file: optionalText(),
      ...unsupportedEntries(unsupportedAuthorizationKeys),
    }),
  ),
  bearer_token: optionalText(),
  bearer_token_file: optionalText(),
  tls_config: v.optional(tlsSchema),
  follow_redirects: v.optional(yamlBoolean(), true),
  // HTTP/2 is allowed, not required: HTTP/1.1 can always be used instead.
  enable_http2: v.optional(yamlBoolean()),
  http_headers: mappingOf(
    v.strictObject({ values: list(scalar()), secrets: list(scalar()), files: list(scalar()) }),
  ),
  oauth2: v.optional(
    v.strictObject({
      client_id: v.optional(scalar(), ""),
      client_secret: optionalText(),
      client_secret_file: optionalText(),
      scopes: list(scalar()),
      token_url: v.optional(scalar(), ""),
      endpoint_params: mappingOf(scalar()),
      tls_config: v.optional(tlsSchema),
      ...proxyEntries,
      ...unsupportedEntries(unsupportedOauth2Keys),
    }),
  ),
  ...proxyEntries,
};

const httpSchema = v.strictObject(httpEntries);
export type HttpRaw = v.InferOutput<typeof httpSchema>;

/** True if neither authentication nor TLS is configured; keys equal to a default do not count. */
export function isPlainHttp(raw: HttpRaw): boolean {
  const { basic_auth, authorization, oauth2, bearer_token, bearer_token_file, tls_config } = raw;
  return [basic_auth, authorization, oauth2, bearer_token, bearer_token_file, tls_config].every(
    (part) => part === undefined,
  );
}

export function readHttp(
  raw: HttpRaw,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): HttpClientConfig {
  const { basic_auth, authorization, oauth2, bearer_token, bearer_token_file } = raw;
  reading.onlyOne(path, { basic_auth, authorization, oauth2, bearer_token, bearer_token_file });
  const basicAuth = basic_auth && readBasicAuth(basic_auth, reading, [...path, "basic_auth"]);
  const shown = readAuthorization(raw, reading, path);
  const proxy = readProxy(raw, reading, path);
  const tokens = oauth2 && readOAuth2(oauth2, reading, [...path, "oauth2"]);
  return {
    ...(basicAuth === undefined ? {} : { basicAuth }),
    ...(shown === undefined ? {} : { authorization: shown }),
    ...(tokens === undefined ? {} : { oauth2: tokens }),
    tls: readTls(raw.tls_config, reading, [...path, "tls_config"]),
    followRedirects: raw.follow_redirects,
    headers: readHeaders(raw, reading, [...path, "http_headers"]),
    ...(proxy === undefined ? {} : { proxy }),
  };
}

function readOAuth2(
  raw: NonNullable<HttpRaw["oauth2"]>,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): OAuth2Config {
  reportUnsupported(unsupportedOauth2Keys, raw, reading, path);
  const { client_id, client_secret, client_secret_file, token_url } = raw;
  if (client_id === "") reading.wrong(path, "client_id is missing.");
  if (!/^https?:\/\/[^/]/i.test(token_url) || !URL.canParse(token_url))
    reading.wrong([...path, "token_url"], "give a URL that begins with http:// or https://.");
  reading.onlyOne(path, { client_secret, client_secret_file });
  return defined({
    clientId: client_id,
    clientSecret: secret(client_secret),
    clientSecretFile: reading.optionalFile(client_secret_file),
    tokenUrl: token_url,
    scopes: raw.scopes,
    endpointParams: raw.endpoint_params,
    tls: readTls(raw.tls_config, reading, [...path, "tls_config"]),
    proxy: readProxy(raw, reading, path),
  });
}

function readProxy(
  raw: ProxyRaw,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): ProxyConfig | undefined {
  const { proxy_url = "", no_proxy = "", proxy_from_environment, proxy_connect_header } = raw;
  const hasHeaders = Object.keys(proxy_connect_header).length > 0;
  if (hasHeaders && proxy_url === "" && !proxy_from_environment)
    reading.wrong(path, "proxy_connect_header needs proxy_url or proxy_from_environment.");
  if (proxy_from_environment && proxy_url !== "")
    reading.wrong(path, "give proxy_url or proxy_from_environment, not both.");
  if (proxy_from_environment && no_proxy !== "")
    reading.wrong(path, "give no_proxy or proxy_from_environment, not both.");
  else if (no_proxy !== "" && proxy_url === "") reading.wrong(path, "no_proxy needs proxy_url.");
  if (proxy_url !== "" && parseProxy(proxy_url) === undefined)
    reading.wrong(
      [...path, "proxy_url"],
      "give a URL that begins with http://, https:// or socks5://.",
    );
  if (proxy_url === "" && !proxy_from_environment) return undefined;
  return {
    ...(proxy_url === "" ? {} : { url: new Secret(proxy_url) }),
    noProxy: no_proxy,
    fromEnvironment: proxy_from_environment,
    connectHeaders: Object.fromEntries(
      Object.entries(proxy_connect_header).map(([name, values]) => {
        if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name))
          reading.wrong([...path, "proxy_connect_header"], "invalid header name.");
        return [name, values.map((text) => new Secret(text))];
      }),
    ),
  };
}

function readBasicAuth(
  raw: NonNullable<HttpRaw["basic_auth"]>,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): BasicAuth {
  reportUnsupported(unsupportedBasicAuthKeys, raw, reading, path);
  const { username, username_file, password, password_file } = raw;
  reading.onlyOne(path, { username, username_file });
  reading.onlyOne(path, { password, password_file });
  const usernameFile = reading.optionalFile(username_file);
  const passwordFile = reading.optionalFile(password_file);
  reading.checkFile([...path, "username_file"], usernameFile, false);
  reading.checkFile([...path, "password_file"], passwordFile, false);
  return defined({ username, usernameFile, password: secret(password), passwordFile });
}

function readAuthorization(
  raw: HttpRaw,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): Authorization | undefined {
  const { authorization, bearer_token, bearer_token_file } = raw;
  if (authorization === undefined) {
    const credentials = secret(bearer_token);
    const credentialsFile = reading.optionalFile(bearer_token_file);
    reading.checkFile([...path, "bearer_token_file"], credentialsFile, isOfJob(path));
    if (credentials === undefined && credentialsFile === undefined) return undefined;
    return defined({ type: "Bearer", credentials, credentialsFile });
  }
  const here = [...path, "authorization"];
  reportUnsupported(unsupportedAuthorizationKeys, authorization, reading, here);
  const { credentials, credentials_file } = authorization;
  reading.onlyOne(here, { credentials, credentials_file });
  const type = authorization.type?.trim() ?? "";
  if (type.toLowerCase() === "basic")
    reading.wrong(here, 'the type may not be "basic": use basic_auth.');
  const credentialsFile = reading.optionalFile(credentials_file);
  reading.checkFile([...here, "credentials_file"], credentialsFile, isOfJob(path));
  return defined({
    type: type === "" ? "Bearer" : type,
    credentials: secret(credentials),
    credentialsFile,
  });
}

/** promtool checks that the files of a job's own client exist, not those of its discoveries or of other sections. */
const isOfJob = (path: ConfigPath): boolean => path.length === 2 && path[0] === "scrape_configs";

function readTls(
  raw: HttpRaw["tls_config"],
  reading: ConfigDiagnostics,
  path: ConfigPath,
): TlsConfig {
  if (raw === undefined) return { insecureSkipVerify: false };
  reportUnsupported(unsupportedTlsKeys, raw, reading, path);
  const { ca, ca_file, cert, cert_file, key, key_file, min_version, max_version } = raw;
  reading.onlyOne(path, { ca, ca_file });
  reading.onlyOne(path, { cert, cert_file });
  reading.onlyOne(path, { key, key_file });
  const hasCert = (cert ?? "") !== "" || (cert_file ?? "") !== "";
  const hasKey = (key ?? "") !== "" || (key_file ?? "") !== "";
  if (hasCert !== hasKey)
    reading.wrong(
      path,
      hasCert
        ? "a certificate needs its key: give key or key_file."
        : "a key needs its certificate: give cert or cert_file.",
    );
  if (
    min_version !== undefined &&
    max_version !== undefined &&
    versionNames.indexOf(min_version) > versionNames.indexOf(max_version)
  )
    reading.remark(path, "min_version is above max_version, so no connection can be made.");
  const [caFile, certFile, keyFile] = [ca_file, cert_file, key_file].map((file) =>
    reading.optionalFile(file),
  );
  const isNeeded = isOfJob(path.slice(0, -1)) || path.at(-3) === "kubernetes_sd_configs";
  reading.checkFile([...path, "ca_file"], caFile, false);
  reading.checkFile([...path, "cert_file"], certFile, isNeeded);
  reading.checkFile([...path, "key_file"], keyFile, isNeeded);
  return defined({
    ca: ca === "" ? undefined : ca,
    caFile,
    cert: cert === "" ? undefined : cert,
    certFile,
    key: secret(key),
    keyFile,
    serverName: raw.server_name === "" ? undefined : raw.server_name,
    insecureSkipVerify: raw.insecure_skip_verify,
    minVersion: min_version && versions[min_version],
    maxVersion: max_version && versions[max_version],
  });
}

const reservedHeaders = new Set([
  "authorization",
  "host",
  "content-encoding",
  "content-length",
  "content-type",
  "user-agent",
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "www-authenticate",
  "accept-encoding",
  "x-prometheus-remote-write-version",
  "x-prometheus-remote-read-version",
  "x-prometheus-scrape-timeout-seconds",
  "x-amz-date",
  "x-amz-security-token",
  "x-amz-content-sha256",
]);

/** Rejects headers that the client sets itself. */
export function checkHeaderName(name: string, reading: ConfigDiagnostics, path: ConfigPath): void {
  if (reservedHeaders.has(name.toLowerCase()))
    reading.wrong([...path, name], "this header may not be set here.");
  else if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name))
    reading.wrong([...path, name], "invalid header name.");
}

function readHeaders(raw: HttpRaw, reading: ConfigDiagnostics, path: ConfigPath): HeaderConfig[] {
  return Object.entries(raw.http_headers).map(([name, { values, secrets, files }]) => {
    checkHeaderName(name, reading, path);
    return {
      name,
      values,
      secrets: secrets.map((text) => new Secret(text)),
      files: files.map((file) => reading.file(file)),
    };
  });
}

const secret = (text: string | undefined): Secret | undefined =>
  text === undefined || text === "" ? undefined : new Secret(text);
