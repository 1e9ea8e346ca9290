/** HTTP client settings of a Prometheus configuration file: authentication, TLS, headers. Paths are absolute; secrets stay hidden. */
import type { Secret } from "./secret.ts";
import type { OAuth2Config } from "./oauth2.ts";
import type { ProxyConfig } from "./proxy.ts";

const tlsVersions = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"] as const;

export interface TlsConfig {
  /** PEM text or the path of a PEM file, never both. */
  readonly ca?: string;
  readonly caFile?: string;
  readonly cert?: string;
  readonly certFile?: string;
  readonly key?: Secret;
  readonly keyFile?: string;
  readonly serverName?: string;
  readonly insecureSkipVerify: boolean;
  readonly minVersion?: (typeof tlsVersions)[number];
  readonly maxVersion?: (typeof tlsVersions)[number];
}

export interface BasicAuth {
  readonly username?: string;
  readonly usernameFile?: string;
  readonly password?: Secret;
  readonly passwordFile?: string;
}

/** `Authorization: TYPE CREDENTIALS`; `bearer_token` and `bearer_token_file` are converted to this. */
export interface Authorization {
  readonly type: string;
  readonly credentials?: Secret;
  readonly credentialsFile?: string;
}

export interface HeaderConfig {
  readonly name: string;
  readonly values: readonly string[];
  readonly secrets: readonly Secret[];
  readonly files: readonly string[];
}

/** Prometheus's `http_config`, or the same keys of a scrape, discovery or remote-write section. */
export interface HttpClientConfig {
  readonly basicAuth?: BasicAuth;
  readonly authorization?: Authorization;
  readonly oauth2?: OAuth2Config;
  readonly tls: TlsConfig;
  readonly followRedirects: boolean;
  readonly headers: readonly HeaderConfig[];
  /** Requests are sent directly if absent. */
  readonly proxy?: ProxyConfig;
}

export const plainHttpClient: HttpClientConfig = {
  tls: { insecureSkipVerify: false },
  followRedirects: true,
  headers: [],
};
