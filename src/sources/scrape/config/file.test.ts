import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { findTool } from "../../../../engines/tools.ts";
import { fuzz, fuzzInputs, fuzzTimeoutMs } from "../../../../test/fuzz/mutate.ts";
import { checkValue } from "../../../config/check.ts";
import { labelSet } from "../../../model/labels.ts";
import { readDocument } from "../../../config/yaml/document.ts";
import { checkPrometheusFile, loadPrometheusFile } from "./file.ts";
import { ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import { prometheusSchema, readSections } from "./sections.ts";
import type { PrometheusConfig } from "./types.ts";

const folder = join(dirname(fileURLToPath(import.meta.url)), "testdata");
const names = readdirSync(folder);
const bad = names.filter((name) => name.endsWith(".bad.yml"));
const good = names.filter((name) => name.endsWith(".good.yml"));
const textOf = (name: string): string => readFileSync(join(folder, name), "utf8");
const env = { SITE: "s1", RACK: "r2" };

async function loaded(name: string): Promise<PrometheusConfig> {
  return loadPrometheusFile(join(folder, name), env);
}

test.each(bad)("%s is refused, with its line and what is wrong", async (name) => {
  const says = /^# says: (.*)$/m.exec(textOf(name))?.[1] ?? expect.unreachable("says nothing");
  const checked = await checkPrometheusFile(join(folder, name), env);
  expect(checked.ok).toBe(false);
  const sentences = checked.ok ? [] : checked.problems.map(({ sentence }) => sentence);
  expect(sentences.join("\n")).toMatch(new RegExp(says));
  for (const sentence of sentences) {
    expect(sentence).toMatch(/\.bad\.yml:\d+:\d+: /);
    expect(sentence).not.toContain("hunter2");
  }
});

test.each(good)("%s loads, with the warnings it names", async (name) => {
  const { unsupported } = await loaded(name);
  for (const [, warns = ""] of textOf(name).matchAll(/^# warns: (.*)$/gm))
    expect(unsupported.join("\n")).toMatch(new RegExp(warns));
});

test.each(names.filter((name) => name.endsWith(".check.yml")))(
  "%s loads, and fails the check with its line",
  async (name) => {
    const says = /^# says: (.*)$/m.exec(textOf(name))?.[1] ?? expect.unreachable("says nothing");
    const checked = await checkPrometheusFile(join(folder, name), env);
    const failures = checked.ok ? checked.checkFailures.map(({ sentence }) => sentence) : [];
    expect(failures.join("\n")).toMatch(new RegExp(says));
    expect((await loaded(name)).unsupported).toEqual(expect.arrayContaining(failures));
  },
);

test("promtool accepts and refuses the same files, but for those that say why not", (context) => {
  const tool = findTool("promtool");
  if ("missing" in tool) return context.skip(tool.missing);
  const files = names.filter((name) => name.endsWith(".yml"));
  const checks = files.filter((name) => name.endsWith(".check.yml"));
  const loads = acceptedBy(tool.path, ["--syntax-only"], files);
  const passes = acceptedBy(tool.path, [], checks);
  const otherwise = files.filter((name) => {
    const noted = /^# promtool 2\.42 (accepts|refuses): /m.exec(textOf(name))?.[1];
    // promtool checks relabeled targets even if only the syntax is to be checked.
    if (checks.includes(name)) return passes.includes(name);
    const expected = noted === undefined ? name.endsWith(".good.yml") : noted === "accepts";
    return loads.includes(name) !== expected;
  });
  expect(loads.length).toBeGreaterThan(0);
  expect(otherwise).toEqual([]);
});

function acceptedBy(
  promtool: string,
  flags: readonly string[],
  files: readonly string[],
): string[] {
  const paths = files.map((name) => join(folder, name));
  const { stdout } = spawnSync(promtool, ["check", "config", ...flags, ...paths], {
    encoding: "utf8",
  });
  return files.filter((name) => stdout.includes(`SUCCESS: ${join(folder, name)} is valid`));
}

test("global values come out with their units, and external labels with their variables", async () => {
  const { global } = await loaded("all.good.yml");
  expect(global).toEqual({
    scrapeIntervalMs: 15_000,
    scrapeTimeoutMs: 5_000,
    evaluationIntervalMs: 30_000,
    ruleQueryOffsetMs: 10_000,
    externalLabels: labelSet({ site: "north", version: "1.10", from: "s1-r2" }),
    limits: {
      samples: 1_500,
      labels: 30,
      labelNameBytes: 200,
      labelValueBytes: 200,
      targets: 30,
      bodyBytes: 15 * 1_024 * 1_024,
      keepDroppedTargets: 7,
    },
  });
});

test("a job that says nothing has the defaults and the global values", async () => {
  const [plain] = (await loaded("all.good.yml")).scrapeConfigs;
  expect(plain).toMatchObject({
    jobName: "plain",
    intervalMs: 15_000,
    timeoutMs: 5_000,
    metricsPath: "/metrics",
    scheme: "http",
    honorLabels: false,
    honorTimestamps: true,
    trackTimestampsStaleness: false,
    enableCompression: true,
    formats: ["text", "openmetrics"],
    fallbackFormat: "text",
    extraMetrics: false,
    limits: { samples: 1_500, keepDroppedTargets: 7 },
    http: { followRedirects: true, headers: [], tls: { insecureSkipVerify: false } },
  });
});

test("without anything the defaults are Prometheus's", async () => {
  const { global, scrapeConfigs, unsupported } = await loaded("empty.good.yml");
  expect(global).toMatchObject({
    scrapeIntervalMs: 60_000,
    scrapeTimeoutMs: 10_000,
    evaluationIntervalMs: 60_000,
    externalLabels: [],
  });
  expect(scrapeConfigs).toEqual([]);
  expect(unsupported).toEqual([]);
});

test("what a job says wins, and its paths start at the file", async () => {
  const job = (await loaded("all.good.yml")).scrapeConfigs[1];
  expect(job).toMatchObject({
    intervalMs: 50_000,
    timeoutMs: 7_000,
    metricsPath: "/probe",
    scheme: "https",
    params: { module: ["http_2xx", "5"] },
    honorLabels: true,
    honorTimestamps: false,
    trackTimestampsStaleness: true,
    enableCompression: false,
    formats: ["openmetrics"],
    fallbackFormat: "openmetrics",
    extraMetrics: true,
    limits: { samples: 99, bodyBytes: 10 * 1_024 * 1_024, targets: 30 },
    discovery: {
      static: [
        {
          targets: ["127.0.0.1:9400", "127.0.0.1:9401"],
          labels: labelSet({ rack: "r1", number: "007" }),
        },
        { targets: [], labels: [] },
      ],
    },
  });
  expect(job?.http).toMatchObject({
    authorization: { type: "Token", credentialsFile: join(folder, "token") },
    followRedirects: false,
    tls: { cert: "PEM", serverName: "target.test", insecureSkipVerify: true },
  });
  expect(job?.http.tls.key?.reveal()).toBe("PEM");
  expect(job?.http.headers[0]).toMatchObject({
    name: "X-Api",
    values: ["a"],
    files: [join(folder, "header")],
  });
  expect(job?.relabelRules.map(({ replacement }) => replacement)).toEqual(["foo-${1}"]);
  expect(job?.metricRelabelRules.map(({ action }) => action)).toEqual(["drop"]);
});

test("every kind of discovery comes out", async () => {
  const found = (await loaded("all.good.yml")).scrapeConfigs[2];
  expect(found?.http.authorization?.credentials?.reveal()).toBe("abc");
  expect(found?.discovery).toMatchObject({
    static: [],
    file: [
      { files: [join(folder, "single/*.json"), "/etc/targets.yml"], refreshIntervalMs: 600_000 },
    ],
    http: [{ url: "http://127.0.0.1:8080/targets", refreshIntervalMs: 60_000 }],
    dns: [
      { names: ["_metrics._tcp.example.test"], type: "SRV", port: 0, refreshIntervalMs: 30_000 },
      { names: ["one.test", "two.test"], type: "A", port: 9_400, refreshIntervalMs: 15_000 },
    ],
    kubernetes: [
      {
        role: "endpoints",
        apiServer: "https://127.0.0.1:6443",
        namespaces: { names: ["default", "gpu"], ownNamespace: false },
        selectors: [
          { role: "pod", label: "app in (a, b)", field: "status.phase!=Failed,spec.nodeName=x" },
        ],
        attachNodeMetadata: true,
        http: { tls: { caFile: join(folder, "ca.pem") } },
      },
      { role: "node", kubeconfigFile: join(folder, "kubeconfig"), selectors: [] },
      { role: "pod", namespaces: { names: [], ownNamespace: true } },
    ],
  });
});

test("jobs of further files take the global values, and their own folder", async () => {
  const job = (await loaded("all.good.yml")).scrapeConfigs[3];
  expect(job).toMatchObject({
    jobName: "from another file",
    intervalMs: 20_000,
    timeoutMs: 5_000,
    http: { basicAuth: { passwordFile: join(folder, "more/password") } },
  });
});

test("remote-write comes out, each with a name of its own that hides the query", async () => {
  const { remoteWrite } = await loaded("all.good.yml");
  expect(remoteWrite.map(({ name }) => name)).toEqual([
    "drop_expensive",
    "127.0.0.1:2/api/v1/write",
    "127.0.0.1:2/api/v1/write 2",
  ]);
  expect(remoteWrite[0]).toMatchObject({
    url: "http://127.0.0.1:1/push",
    timeoutMs: 20_000,
    headers: { "X-Tenant": "a" },
    version: "2.0",
    queue: {
      capacity: 5_000,
      minShards: 2,
      maxShards: 10,
      maxSamplesPerSend: 500,
      batchSendDeadlineMs: 1_000,
      minBackoffMs: 100,
      maxBackoffMs: 10_000,
      retryOnRateLimit: true,
      sampleAgeLimitMs: 3_600_000,
    },
    metadata: { send: false, sendIntervalMs: 120_000, maxSamplesPerSend: 2_000 },
    http: { basicAuth: { username: "me", passwordFile: join(folder, "secrets/password") } },
  });
  expect(remoteWrite[1]).toMatchObject({
    timeoutMs: 30_000,
    version: "1.0",
    queue: { capacity: 10_000, minShards: 1, maxShards: 50, maxBackoffMs: 5_000 },
    http: { tls: { caFile: join(folder, "ca.pem"), minVersion: "TLSv1.3" } },
  });
});

test("rule files and Alertmanagers are kept for who evaluates rules", async () => {
  const { ruleFiles, alerting } = await loaded("all.good.yml");
  expect(ruleFiles).toEqual([join(folder, "first.rules"), join(folder, "my/*.rules")]);
  expect(alerting.alertRelabelRules.map(({ action }) => action)).toEqual(["labeldrop"]);
  expect(alerting.alertmanagers).toMatchObject([
    {
      scheme: "https",
      pathPrefix: "/am",
      timeoutMs: 3_000,
      discovery: { static: [{ targets: ["127.0.0.1:9093"] }] },
    },
  ]);
});

test("what does nothing here is named with its path and a reason, and what asks for nothing is not", async () => {
  const { unsupported } = await loaded("lacks.good.yml");
  for (const sentence of unsupported) expect(sentence).toMatch(/^\S+( is not supported)?: .+\.$/);
  expect(unsupported.map((sentence) => sentence.split(" ", 1)[0])).toEqual([
    "runtime",
    "storage",
    "tracing",
    "remote_read",
    "otlp.promote_resource_attributes",
    "global.metric_name_validation_scheme",
    "global.scrape_failure_log_file",
    "global.query_log_file",
    "global.external_labels.site:",
    "scrape_configs[0].consul_sd_configs",
    "scrape_configs[0].ec2_sd_configs",
    "scrape_configs[0]:",
    "scrape_configs[1].tls_config.next_protos",
  ]);
});

test("native histograms: protobuf is asked for first, and jobs take over what global has", async () => {
  const { scrapeConfigs } = await loaded("histograms.good.yml");
  expect(
    scrapeConfigs.map(({ jobName, formats, histograms }) => ({ jobName, formats, ...histograms })),
  ).toEqual([
    {
      jobName: "defaults",
      formats: ["protobuf", "openmetrics", "text"],
      isNative: true,
      isAlwaysClassic: false,
      isConverted: false,
      bucketLimit: 0,
      maxSchema: 8,
    },
    {
      jobName: "limited",
      formats: ["protobuf", "text"],
      isNative: true,
      isAlwaysClassic: true,
      isConverted: true,
      bucketLimit: 160,
      maxSchema: 3,
    },
    {
      jobName: "off",
      formats: ["openmetrics", "text"],
      isNative: false,
      isAlwaysClassic: true,
      isConverted: false,
      bucketLimit: 0,
      maxSchema: -4,
    },
  ]);
});

test("anchors and merge keys are resolved", async () => {
  const { scrapeConfigs } = await loaded("anchors.good.yml");
  expect(scrapeConfigs).toMatchObject(
    ["one", "two"].map((jobName) => ({
      jobName,
      intervalMs: 10_000,
      discovery: { static: [{ targets: ["127.0.0.1:1"] }] },
    })),
  );
});

test("scalars stay as they were written", async () => {
  const [job] = (await loaded("scalars.good.yml")).scrapeConfigs;
  expect(job).toMatchObject({
    jobName: "1e3",
    discovery: { static: [{ labels: labelSet({ a: "true", b: "1.50", c: "0o7" }) }] },
  });
});

test("no secret shows in what was read", async () => {
  const config = await loaded("all.good.yml");
  for (const text of [JSON.stringify(config), inspect(config, { depth: 20 })])
    expect(text).not.toMatch(/hunter2|"abc"|'abc'/);
});

test("a file that is not there, or another file's job of the same name, is reported", async () => {
  await expect(loaded("missing.yml")).rejects.toThrow(/missing\.yml does not exist/);
  await expect(loaded("two-jobs.bad.yml")).rejects.toThrow(/two-jobs\.bad\.yml:3:5: /);
});

test("any bytes are read or refused", { timeout: fuzzTimeoutMs * 4 }, async () => {
  await fuzz({
    seed: 0xc0f,
    inputs: Math.ceil(fuzzInputs / 10),
    samples: good.map((name) => readFileSync(join(folder, name))),
    parse: async (bytes) => {
      const document = await readDocument(bytes.toString(), "fuzz.yml");
      const checked = checkValue(prometheusSchema, document.value);
      if (!checked.ok) return checked.problems.map(({ path }) => document.at(path));
      const reading = new ConfigDiagnostics("/nowhere");
      readSections(checked.value, env, reading);
      return reading.mistakes.map(({ path }) => document.at(path));
    },
  });
});
