/** The parts of Prometheus's configuration that are valid but have no effect here, with the reason for the warning. */
import * as v from "valibot";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";

interface UnsupportedKey {
  readonly why: string;
  /** The file is rejected, since ignoring the key would change the meaning of the configuration. */
  readonly isRefused?: true;
  /** Values accepted without a warning, since they request the existing behaviour. */
  readonly fine?: readonly string[];
  /** The only values that Prometheus loads. */
  readonly only?: readonly string[];
}

type UnsupportedKeys = Readonly<Record<string, UnsupportedKey>>;

const off = ["false", "no", "off"];
const noDiscovery: UnsupportedKey = {
  why: "it discovers no targets here; list them with http_sd_configs or file_sd_configs.",
};

export const unsupportedTopKeys: UnsupportedKeys = {
  runtime: { why: "it tunes Prometheus's own process." },
  storage: { why: "retention is set by --retention." },
  tracing: { why: "no traces are sent." },
  remote_read: { why: "nothing is read from elsewhere; --store puts the whole history elsewhere." },
};

const otlpDefault: UnsupportedKey = { why: "OTLP is received with Prometheus's default settings." };
export const unsupportedOtlpKeys: UnsupportedKeys = {
  promote_resource_attributes: otlpDefault,
  promote_all_resource_attributes: { ...otlpDefault, fine: off },
  ignore_resource_attributes: otlpDefault,
  keep_identifying_resource_attributes: { ...otlpDefault, fine: off },
  promote_scope_metadata: { ...otlpDefault, fine: off },
  translation_strategy: { ...otlpDefault, fine: ["UnderscoreEscapingWithSuffixes"] },
  label_name_underscore_sanitization: otlpDefault,
  label_name_preserve_multiple_underscores: otlpDefault,
};

const nameLacks: UnsupportedKeys = {
  metric_name_validation_scheme: {
    why: "it is applied to this file; names that are scraped are always UTF-8.",
    fine: ["utf8", ""],
    only: ["utf8", "legacy", ""],
  },
  metric_name_escaping_scheme: {
    why: "names are always UTF-8.",
    fine: ["allow-utf-8"],
    only: ["allow-utf-8", "underscores", "dots", "values", ""],
  },
};

const failureLog: UnsupportedKeys = {
  scrape_failure_log_file: { why: "failed scrapes are in the log and at /api/v1/targets." },
};

export const unsupportedGlobalKeys: UnsupportedKeys = {
  ...nameLacks,
  ...failureLog,
  query_log_file: { why: "queries are not logged to a file." },
};

export const unsupportedJobKeys: UnsupportedKeys = {
  ...nameLacks,
  ...failureLog,
};

export const unsupportedDiscoveryKeys: UnsupportedKeys = Object.fromEntries(
  [
    "aws",
    "azure",
    "consul",
    "digitalocean",
    "docker",
    "dockerswarm",
    "ec2",
    "ecs",
    "elasticache",
    "eureka",
    "gce",
    "hetzner",
    "huawei",
    "ionos",
    "kuma",
    "lightsail",
    "linode",
    "marathon",
    "msk",
    "nerve",
    "nomad",
    "openstack",
    "outscale",
    "ovhcloud",
    "puppetdb",
    "rds",
    "scaleway",
    "serverset",
    "stackit",
    "triton",
    "uyuni",
    "vultr",
  ].map((kind) => [`${kind}_sd_configs`, noDiscovery]),
);

const noReference: UnsupportedKey = {
  why: "there is no secret manager; use the _file beside it.",
  isRefused: true,
};

export const unsupportedOauth2Keys: UnsupportedKeys = { client_secret_ref: noReference };
export const unsupportedBasicAuthKeys: UnsupportedKeys = {
  username_ref: noReference,
  password_ref: noReference,
};
export const unsupportedAuthorizationKeys: UnsupportedKeys = { credentials_ref: noReference };
export const unsupportedTlsKeys: UnsupportedKeys = {
  ca_ref: noReference,
  cert_ref: noReference,
  key_ref: noReference,
  next_protos: { why: "HTTP/1.1 is used." },
};

const noCloud: UnsupportedKey = { why: "use basic_auth or authorization.", isRefused: true };

export const unsupportedAlertmanagerKeys: UnsupportedKeys = { sigv4: noCloud };

export const unsupportedRemoteWriteKeys: UnsupportedKeys = {
  sigv4: noCloud,
  azuread: noCloud,
  google_iam: noCloud,
  round_robin_dns: { why: "connections use the system's resolver.", fine: off },
};

/** Schema entries for the keys of a table: any value of this form is accepted, and reported by `reportUnsupported`. */
export function unsupportedEntries<Table extends UnsupportedKeys>(
  table: Table,
  form: v.GenericSchema = v.unknown(),
): { [Key in keyof Table]: v.OptionalSchema<v.GenericSchema, undefined> } {
  return Object.fromEntries(Object.keys(table).map((key) => [key, v.optional(form)])) as {
    [Key in keyof Table]: v.OptionalSchema<v.GenericSchema, undefined>;
  };
}

export function reportUnsupported(
  table: UnsupportedKeys,
  raw: object,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): void {
  for (const [key, { why, isRefused, fine, only }] of Object.entries(table)) {
    const value = (raw as Readonly<Record<string, unknown>>)[key];
    if (value === undefined || value === null) continue;
    if (only?.every((word) => word !== value) === true) {
      reading.wrong([...path, key], `give one of ${only.filter(Boolean).join(", ")}.`);
      continue;
    }
    if (
      fine?.some((text) => JSON.stringify(value).toLowerCase() === text || value === text) === true
    )
      continue;
    if (isRefused === true) reading.refuses([...path, key], why);
    else reading.lacks([...path, key], why);
  }
}
