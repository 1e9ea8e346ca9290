/** `--prometheus URL` with its token and CA: the external engine whose GPU exporters are shown. */
import { resolve } from "node:path";
import { Option } from "commander";
import { GpulseError } from "../../base/error.ts";
import { Secret } from "../../net/http/secret.ts";
import type { StoreAddress } from "../../storage/remote/address.ts";
import { addressOf, type StoreConfig } from "../../storage/remote/schema.ts";

export interface PrometheusFlags {
  readonly prometheus?: string;
  /** The token itself, or `file:PATH`. */
  readonly prometheusToken?: string;
  readonly prometheusCa?: string;
}

export const prometheusFlags = {
  prometheus: () =>
    new Option(
      "--prometheus <url>",
      "show the GPUs whose exporters this Prometheus, Thanos, Mimir or VictoriaMetrics scrapes; read-only",
    ),
  prometheusToken: () =>
    new Option(
      "--prometheus-token <token>",
      "bearer token for --prometheus, or file:PATH that holds it (default: GPULSE_PROMETHEUS_TOKEN)",
    ),
  prometheusCa: () =>
    new Option(
      "--prometheus-ca <file>",
      "CA that signed the certificate of --prometheus (default: GPULSE_PROMETHEUS_CA)",
    ),
} as const;

/** Each flag or variable overrides the file. */
export function prometheusSettings(
  flags: PrometheusFlags,
  env: Readonly<Record<string, string | undefined>>,
  configured: StoreConfig | undefined,
): StoreAddress | undefined {
  const pick = (flag: string | undefined, variable: string): string | undefined => {
    const given = flag ?? env[variable];
    return given === "" ? undefined : given;
  };
  const engine = pick(flags.prometheus, "GPULSE_PROMETHEUS") ?? configured;
  const token = pick(flags.prometheusToken, "GPULSE_PROMETHEUS_TOKEN");
  const caFile = pick(flags.prometheusCa, "GPULSE_PROMETHEUS_CA");
  if (engine === undefined) {
    if (flags.prometheusToken === undefined && flags.prometheusCa === undefined) return undefined;
    throw new GpulseError(
      "USAGE",
      "--prometheus-token and --prometheus-ca need --prometheus URL, or hub.prometheus in gpulse.yaml.",
    );
  }
  const address = addressOf(engine);
  const { http } = address;
  return {
    ...address,
    http: {
      ...http,
      ...(token !== undefined && { authorization: authorizationOf(token) }),
      ...(caFile !== undefined && { tls: { ...http.tls, caFile: resolve(caFile) } }),
    },
  };
}

function authorizationOf(token: string) {
  const type = "Bearer";
  return token.startsWith("file:")
    ? { type, credentialsFile: resolve(token.slice("file:".length)) }
    : { type, credentials: new Secret(token) };
}
