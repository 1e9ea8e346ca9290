import { resolve } from "node:path";
import { expect, test } from "vitest";
import { Secret } from "../../net/http/secret.ts";
import { prometheusSettings } from "./prometheus.ts";

const url = "https://prometheus:9090";

test("token and CA of the flags win over those of gpulse.yaml, one by one", () => {
  const configured = {
    url,
    authorization: { credentials: "from-file" },
    tls_config: { ca_file: "/etc/file-ca.pem", server_name: "prom" },
  };
  const { base, http } = prometheusSettings({ prometheusToken: "t1" }, {}, configured) ?? {};
  expect(base).toBe(url);
  expect(http?.authorization).toEqual({ type: "Bearer", credentials: new Secret("t1") });
  expect(http?.tls).toMatchObject({ caFile: "/etc/file-ca.pem", serverName: "prom" });
});

test("a token may be in a file, which is read again when it changes, and all three in variables", () => {
  const env = { GPULSE_PROMETHEUS: url, GPULSE_PROMETHEUS_CA: "ca.pem" };
  const found = prometheusSettings({ prometheusToken: "file:token" }, env, undefined);
  expect(found?.http).toMatchObject({
    authorization: { type: "Bearer", credentialsFile: resolve("token") },
    tls: { caFile: resolve("ca.pem") },
  });
});

test("a token without a Prometheus is an error", () => {
  expect(() => prometheusSettings({ prometheusToken: "t" }, {}, undefined)).toThrow(
    "need --prometheus URL",
  );
  expect(prometheusSettings({}, { GPULSE_PROMETHEUS_TOKEN: "t" }, undefined)).toBeUndefined();
});
