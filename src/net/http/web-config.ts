/**
 * Prometheus's web configuration file, as its exporters take it with `--web.config.file`: TLS, headers and users. An unknown key is
 * refused, because whatever it was meant to protect would be open.
 */
import * as v from "valibot";
import path from "node:path";
import { flag, text } from "../../config/fields.ts";
import { loadFile } from "../../config/file.ts";
import { GpulseError } from "../../base/error.ts";
import { clientAuthTypes, type ServerTls } from "./server-tls.ts";

/** Maps Go's names of cipher suites and curves, which Prometheus's files use, to OpenSSL's names. Broken suites are left out. */
const cipherNames: Readonly<Record<string, string>> = {
  TLS_AES_128_GCM_SHA256: "TLS_AES_128_GCM_SHA256",
  TLS_AES_256_GCM_SHA384: "TLS_AES_256_GCM_SHA384",
  TLS_CHACHA20_POLY1305_SHA256: "TLS_CHACHA20_POLY1305_SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: "ECDHE-ECDSA-AES128-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: "ECDHE-ECDSA-AES256-SHA",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: "ECDHE-RSA-AES128-SHA",
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: "ECDHE-RSA-AES256-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_RSA_WITH_AES_128_CBC_SHA: "AES128-SHA",
  TLS_RSA_WITH_AES_256_CBC_SHA: "AES256-SHA",
  TLS_RSA_WITH_AES_128_GCM_SHA256: "AES128-GCM-SHA256",
  TLS_RSA_WITH_AES_256_GCM_SHA384: "AES256-GCM-SHA384",
};

const curveNames: Readonly<Record<string, string>> = {
  CurveP256: "P-256",
  CurveP384: "P-384",
  CurveP521: "P-521",
  X25519: "X25519",
};

export interface WebConfig {
  readonly tls?: ServerTls;
  readonly headers: Readonly<Record<string, string>>;
  /** User name to bcrypt hash. */
  readonly users: ReadonlyMap<string, string>;
}

const versionName = () =>
  v.pipe(
    v.picklist(["TLS12", "TLS13"], "TLS12 or TLS13 (older versions are broken)"),
    v.transform((name) => (name === "TLS12" ? "TLSv1.2" : "TLSv1.3")),
  );

const listed = (names: Readonly<Record<string, string>>, what: string) =>
  v.array(
    v.picklist(Object.keys(names), `a ${what} such as ${Object.keys(names)[0] ?? ""}`),
    `a list of ${what}s`,
  );

/** 17 rounds take over ten seconds per check; a hash that slow would only lock its user out. */
const bcrypt = /^\$2[aby]\$(?:0[4-9]|1[0-6])\$[./A-Za-z0-9]{53}$/;

const headerSchemas = {
  "Content-Security-Policy": text(),
  "X-Frame-Options": v.picklist(["deny", "sameorigin", "DENY", "SAMEORIGIN"], "deny or sameorigin"),
  "X-Content-Type-Options": v.picklist(["nosniff"], "nosniff"),
  "X-XSS-Protection": text(),
  "Strict-Transport-Security": text(),
};

const webConfigSchema = v.strictObject({
  tls_server_config: v.optional(
    v.strictObject({
      cert_file: text("the path of a certificate"),
      key_file: text("the path of a key"),
      client_auth_type: v.optional(
        v.picklist(clientAuthTypes, `one of ${clientAuthTypes.join(", ")}`),
        "NoClientCert",
      ),
      client_ca_file: v.optional(text("the path of a CA file")),
      client_allowed_sans: v.optional(v.array(text("a name"), "a list of names")),
      min_version: v.optional(versionName()),
      max_version: v.optional(versionName()),
      cipher_suites: v.optional(listed(cipherNames, "cipher suite")),
      // TLS 1.3 and Node's defaults leave the order to the server, as `true` does.
      prefer_server_cipher_suites: v.optional(flag()),
      curve_preferences: v.optional(listed(curveNames, "curve")),
    }),
  ),
  http_server_config: v.optional(
    v.strictObject({
      // Clients that offer HTTP/2 also accept HTTP/1.1, the only version these servers speak.
      http2: v.optional(flag()),
      headers: v.optional(v.partial(v.strictObject(headerSchemas))),
    }),
  ),
  basic_auth_users: v.optional(
    v.record(
      text("a user name"),
      v.pipe(
        v.string("a bcrypt hash"),
        v.regex(bcrypt, "a bcrypt hash of at most 16 rounds, as htpasswd -nBC 10 NAME prints it"),
      ),
    ),
  ),
});

/** Reads the file; relative paths in it are resolved against its folder. */
export async function readWebConfig(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<WebConfig> {
  const given = await loadFile(file, webConfigSchema, env);
  const tls = given.tls_server_config;
  const from = (name: string): string => path.resolve(path.dirname(file), name);
  const clientAuth = tls?.client_auth_type ?? "NoClientCert";
  if (tls !== undefined) checkClientCa(file, clientAuth, tls.client_ca_file !== undefined);
  return {
    headers: Object.fromEntries(
      Object.entries(given.http_server_config?.headers ?? {}).flatMap(([name, value]) =>
        value === undefined ? [] : [[name.toLowerCase(), value]],
      ),
    ),
    users: new Map(Object.entries(given.basic_auth_users ?? {})),
    ...(tls === undefined
      ? {}
      : {
          tls: {
            certFile: from(tls.cert_file),
            keyFile: from(tls.key_file),
            clientAuth,
            ...(tls.client_ca_file === undefined ? {} : { clientCaFile: from(tls.client_ca_file) }),
            ...(tls.client_allowed_sans === undefined
              ? {}
              : { clientAllowedSans: tls.client_allowed_sans }),
            ...(tls.min_version === undefined ? {} : { minVersion: tls.min_version }),
            ...(tls.max_version === undefined ? {} : { maxVersion: tls.max_version }),
            ...(tls.cipher_suites === undefined
              ? {}
              : { ciphers: opensslCiphers(tls.cipher_suites) }),
            ...(tls.curve_preferences === undefined
              ? {}
              : { curves: tls.curve_preferences.map((name) => curveNames[name] ?? "").join(":") }),
          },
        }),
  };
}

/** The same check as Prometheus's: a CA without client verification, or verification without a CA, is a mistake. */
function checkClientCa(file: string, clientAuth: string, hasCa: boolean): void {
  const verifies = clientAuth.includes("Verify");
  if (verifies && !hasCa)
    throw new GpulseError(
      "CONFIG_WRONG_VALUE",
      `${file}: client_auth_type ${clientAuth} needs client_ca_file.`,
    );
  if (hasCa && clientAuth === "NoClientCert")
    throw new GpulseError(
      "CONFIG_WRONG_VALUE",
      `${file}: client_ca_file is given but client_auth_type asks for no certificate: set it to RequireAndVerifyClientCert.`,
    );
}

/** The three TLS 1.3 suites are always enabled, as in Go. */
function opensslCiphers(names: readonly string[]): string {
  const always = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
  ];
  return [...new Set([...always, ...names.map((name) => cipherNames[name] ?? name)])].join(":");
}
