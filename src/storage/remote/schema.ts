/**
 * `hub.store` in gpulse.yaml: a URL, or a URL with credentials and TLS settings under the names of a Prometheus
 * configuration.
 */
import { resolve } from "node:path";
import * as v from "valibot";
import { flag, text } from "../../config/fields.ts";
import type { HttpClientConfig } from "../../net/http/auth-config.ts";
import { Secret } from "../../net/http/secret.ts";
import { engineNames, parseStoreAddress, type StoreAddress } from "./address.ts";

const optionalWithDescription = <Schema extends v.GenericSchema>(
  schema: Schema,
  description: string,
) => v.optional(v.pipe(schema, v.description(description)));

const takes =
  "the URL of an engine such as http://victoria-metrics:8428, or a mapping with its url";

export const storeSchema = v.union(
  [
    text(takes),
    v.strictObject({
      url: v.pipe(
        text(takes),
        v.description("Where the engine is: what `/api/v1/query` is put behind."),
      ),
      engine: optionalWithDescription(
        v.picklist(engineNames, `one of ${engineNames.join(", ")}`),
        "The kind of engine. Detected where absent.",
      ),
      write: optionalWithDescription(
        text("a URL or a path"),
        "The remote-write endpoint. Default: `/api/v1/write`, Mimir's `/api/v1/push` or Thanos's `/api/v1/receive`.",
      ),
      tenant: optionalWithDescription(
        text("a tenant"),
        "Sent as `X-Scope-OrgID`, or `THANOS-TENANT`.",
      ),
      headers: optionalWithDescription(
        v.record(v.string(), text()),
        "Further headers of every request.",
      ),
      basic_auth: optionalWithDescription(
        v.strictObject({
          username: optionalWithDescription(text(), "User."),
          password: optionalWithDescription(text(), "Password: `${VARIABLE}` or `file:PATH`."),
        }),
        "User and password.",
      ),
      authorization: optionalWithDescription(
        v.strictObject({
          type: optionalWithDescription(text(), "Default: `Bearer`."),
          credentials: v.pipe(text(), v.description("The token: `${VARIABLE}` or `file:PATH`.")),
        }),
        "A token.",
      ),
      tls_config: optionalWithDescription(
        v.strictObject({
          ca_file: optionalWithDescription(
            text("a file"),
            "CA that signed the engine's certificate.",
          ),
          cert_file: optionalWithDescription(text("a file"), "Certificate to show."),
          key_file: optionalWithDescription(text("a file"), "Its key."),
          server_name: optionalWithDescription(text(), "Name its certificate must carry."),
          insecure_skip_verify: optionalWithDescription(flag(), "Do not check its certificate."),
        }),
        "TLS towards it.",
      ),
    }),
  ],
  takes,
);

export type StoreConfig = v.InferOutput<typeof storeSchema>;

export function addressOf(store: StoreConfig): StoreAddress {
  if (typeof store === "string") return parseStoreAddress(store);
  const { url, engine, write, tenant } = store;
  return parseStoreAddress(url, { engine, write, tenant, http: httpOf(store) });
}

function httpOf(store: Exclude<StoreConfig, string>): HttpClientConfig {
  const { basic_auth: basic, authorization, tls_config: tls = {}, headers = {} } = store;
  return {
    followRedirects: false,
    headers: Object.entries(headers).map(([name, value]) => ({
      name,
      values: [],
      secrets: [new Secret(value)],
      files: [],
    })),
    ...(basic === undefined
      ? {}
      : {
          basicAuth: {
            username: basic.username ?? "",
            password: new Secret(basic.password ?? ""),
          },
        }),
    ...(authorization === undefined
      ? {}
      : {
          authorization: {
            type: authorization.type ?? "Bearer",
            credentials: new Secret(authorization.credentials),
          },
        }),
    tls: {
      insecureSkipVerify: tls.insecure_skip_verify ?? false,
      ...(tls.ca_file === undefined ? {} : { caFile: resolve(tls.ca_file) }),
      ...(tls.cert_file === undefined ? {} : { certFile: resolve(tls.cert_file) }),
      ...(tls.key_file === undefined ? {} : { keyFile: resolve(tls.key_file) }),
      ...(tls.server_name === undefined ? {} : { serverName: tls.server_name }),
    },
  };
}
