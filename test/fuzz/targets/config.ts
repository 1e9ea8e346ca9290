// Input written by users: configuration files, rules, routes, templates, queries, matchers, durations, addresses.

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { parseRouting } from "../../../src/alerting/route/config.ts";
import { compilePattern as compileAlertPattern } from "../../../src/alerting/route/matchers.ts";
import { parseMatcher, parseMatchers } from "../../../src/alerting/route/parse-matchers.ts";
import { parseRuleFile } from "../../../src/alerting/rules/file.ts";
import { readTestFile } from "../../../src/alerting/unit-tests/file.ts";
import { readMetric } from "../../../src/alerting/unit-tests/metric.ts";
import { readPoints } from "../../../src/alerting/unit-tests/points.ts";
import { readParameters } from "../../../src/lake/analyses/parameters.ts";
import { loadPipeline } from "../../../src/cli/pipe/pipeline-file.ts";
import { configSchema } from "../../../src/cli/command/schema.ts";
import { checkValue } from "../../../src/config/check.ts";
import { parseTariff } from "../../../src/runs/jobs/tariff.ts";
import { parseDurationMs } from "../../../src/config/duration.ts";
import { parseBytes } from "../../../src/config/fields.ts";
import { checkText } from "../../../src/config/file.ts";
import { parseAddress } from "../../../src/net/objects/open.ts";
import { parseStoreAddress } from "../../../src/storage/remote/address.ts";
import { parseRange } from "../../../src/net/http/address-ranges.ts";
import { parseProxy } from "../../../src/net/http/proxy.ts";
import { readWebConfig } from "../../../src/net/http/web-config.ts";
import { PrometheusApiError } from "../../../src/hub/api/failure.ts";
import { parseTimeMs } from "../../../src/config/time.ts";
import { parseAlertmanagerTarget } from "../../../src/hub/alerts/alertmanager-targets.ts";
import { readSubject } from "../../../src/hub/compare/routes.ts";
import { parseKernelLog } from "../../../src/sinks/kernel-log/define.ts";
import { parseManifestPath } from "../../../src/lake/commit.ts";
import { parsePath } from "../../../src/lake/names.ts";
import { readSettings } from "../../../src/cli/lambda/settings.ts";
import { parseLogLevel } from "../../../src/base/log.ts";
import { labelSet } from "../../../src/model/labels.ts";
import { readReceivers } from "../../../src/alerting/channels/read.ts";
import {
  parseCondition,
  parseExpression,
  parseQuantity,
} from "../../../src/pipeline/tags/expression.ts";
import { QueryError } from "../../../src/query/errors.ts";
import { compileRegex, regexProblem } from "../../../src/query/matcher.ts";
import { readDurationMs, readNumber } from "../../../src/query/number.ts";
import { parse as parseQuery, parseSelector } from "../../../src/query/parse/parse.ts";
import { relabel } from "../../../src/formats/relabel/relabel.ts";
import { compileRule } from "../../../src/formats/relabel/rule.ts";
import { readDocument } from "../../../src/config/yaml/document.ts";
import { checkOwnSections } from "../../../src/sources/scrape/config/own-sections.ts";
import { ConfigDiagnostics } from "../../../src/config/yaml/diagnostics.ts";
import { prometheusSchema, readSections } from "../../../src/sources/scrape/config/sections.ts";
import { parseSearchList } from "../../../src/sources/scrape/discovery/dns.ts";
import { readGroups } from "../../../src/sources/scrape/discovery/group.ts";
import { splitHostPort } from "../../../src/sources/scrape/targets/target.ts";
import { parseScrapeDuration } from "../../../src/sources/scrape/targets/populate.ts";
import { parseSink } from "../../../src/sinks/open.ts";
import { parseSource } from "../../../src/sources/open.ts";
import { parseScenario } from "../../../src/sources/sim/scenario/load.ts";
import { StoreError } from "../../../src/storage/embedded/error.ts";
import { compilePattern as compileStorePattern } from "../../../src/storage/embedded/index/pattern.ts";
import { checkAlertTemplate } from "../../../src/formats/template/alert.ts";
import { TemplateSet } from "../../../src/formats/template/exec.ts";
import { TemplateError } from "../../../src/formats/template/lex.ts";
import { GoMap, type TemplateValue } from "../../../src/formats/template/value.ts";
import { parseInput } from "../../../src/top/terminal/input.ts";
import type { FuzzTarget } from "../contract.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-fuzz-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** For parsers that read a file by its path. */
const inFile =
  (name: string, read: (file: string) => unknown) =>
  (bytes: Buffer): unknown => {
    const file = path.join(folder, name);
    writeFileSync(file, bytes);
    return read(file);
  };

const src = (place: string): string =>
  fileURLToPath(new URL(`../../../src/${place}`, import.meta.url));
const ownFiles = (place: string, ends: string): string[] =>
  readdirSync(src(place))
    .filter((name) => name.endsWith(ends))
    .map((name) => readFileSync(path.join(src(place), name), "utf8"))
    .filter((text) => text.length < 3_000);

/** Passes each text to all parsers; a refusal by one does not skip the next. */
const each =
  (...parsers: readonly ((text: string) => unknown)[]) =>
  (bytes: Buffer): unknown => {
    const text = bytes.toString();
    let refusal: Error | undefined;
    for (const parse of parsers)
      try {
        parse(text);
      } catch (thrown) {
        // An engine error is never a refusal: rethrown at once.
        if (!(thrown instanceof Error) || thrown instanceof TypeError) throw thrown;
        if (thrown instanceof RangeError) throw thrown;
        refusal = thrown;
      }
    if (refusal !== undefined) throw refusal;
    return undefined;
  };

const env = { TOKEN: "abc", EMPTY: "" };
const templateData = new GoMap(
  new Map<string, TemplateValue>([
    ["Labels", new GoMap(new Map([["gpu", "0"]]), "")],
    ["Value", 87.5],
    ["List", ["x", "y"]],
    ["N", 3n],
  ]),
);
const goldenTemplates = (
  JSON.parse(readFileSync(src("formats/template/testdata/go-text-template.json"), "utf8")) as [
    string,
  ][]
)
  .map(([template]) => template)
  .filter((_, index) => index % 5 === 0);

const queries = [
  'sum by (host) (rate(gpu_energy_joules_total{job="gpulse",uuid=~"GPU-.+"}[5m])) > 1e3',
  "histogram_quantile(0.95, sum without (le) (rate(x_bucket[1h30m]))) offset -5m",
  "avg_over_time((a / on (b) group_left (c) d)[1h:1m] @ end()) or vector(0) unless bool == 2",
  'label_replace({__name__="a b", "x.y"!="z"}, "a", "$1", "b", "(.*)")',
  "topk(3, -x ^ 2 ^ 3 % 0x1F) # comment",
];

const rules = `groups:
- name: g
  interval: 30s
  limit: 5
  rules:
  - record: a:b
    expr: sum(rate(x[5m]))
    labels: {team: a}
  - alert: Hot
    expr: gpu_temperature_celsius > 90
    for: 5m
    keep_firing_for: 1m
    labels: {severity: page}
    annotations: {summary: "{{ $labels.host }} is {{ $value | humanize }}"}
`;

const gpulseYaml = `hub: {port: 9400, data: /var/lib/gpulse}
interval: 1s
sources: ["sim:8xH100-SXM5-80GB", {nvidia: {}}]
scrape_configs:
- job_name: a
  static_configs: [{targets: ["127.0.0.1:9100"]}]
token: \${TOKEN}
`;

const scrapeYaml = ownFiles("sources/scrape/config/testdata", ".yml").slice(0, 12);

export const targets: readonly FuzzTarget[] = [
  {
    name: "promql",
    seeds: queries,
    refuses: [QueryError],
    parse: each(parseQuery, parseSelector),
  },
  {
    name: "patterns",
    seeds: ["GPU-.+|x", "(?i)a{1,3}[^b]\\d*$", "a|b|c", "(a+)+b", ".*x.*"],
    refuses: [StoreError],
    cost: 4,
    parse: each(
      (text) => regexProblem(text) ?? compileRegex(text).matches("GPU-aaaaaaaaaaaaaaaaaaaaaaaa"),
      (text) => compileAlertPattern(text).matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
      (text) => compileStorePattern(text).test("aaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    ),
  },
  {
    name: "rule-file",
    seeds: [rules],
    cost: 10,
    parse: (bytes) => parseRuleFile(bytes.toString(), "rules.yml"),
  },
  {
    name: "rule-test-file",
    seeds: [
      "rule_files: [r.yml]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n  - {series: 'x{a=\"b\"}', values: '1+2x10 _ stale 0x3'}\n  alert_rule_test:\n  - {eval_time: 5m, alertname: Hot, exp_alerts: []}\n",
    ],
    cost: 10,
    parse: inFile("test.yml", readTestFile),
  },
  {
    name: "rule-test-series",
    seeds: ["1+2x10 _ stale _x3 -5-1x4 NaN Inf", 'x{a="b",c="d"}'],
    refuses: [Error],
    parse: each(readPoints, readMetric),
  },
  {
    name: "alertmanager-yml",
    seeds: [
      ...ownFiles("alerting/route/testdata", ".good.yml"),
      ...ownFiles("alerting/channels/testdata/config", ".good.yml").slice(0, 8),
    ],
    cost: 20,
    parse: async (bytes) => {
      const source = bytes.toString();
      const routing = await parseRouting(source, "alertmanager.yml");
      return readReceivers(routing, { file: path.join(folder, "alertmanager.yml"), env });
    },
  },
  {
    name: "gpulse-yaml",
    seeds: [gpulseYaml],
    cost: 20,
    parse: async (bytes) => {
      const checked = await checkText(
        bytes.toString(),
        path.join(folder, "gpulse.yaml"),
        configSchema,
        env,
      );
      return checked.ok ? checkOwnSections(checked.value, folder) : checked.problems;
    },
  },
  {
    name: "prometheus-yml",
    seeds: scrapeYaml,
    cost: 20,
    parse: async (bytes) => {
      const document = await readDocument(bytes.toString(), "prometheus.yml");
      const checked = checkValue(prometheusSchema, document.value);
      if (!checked.ok) return checked.problems.map((problem) => document.at(problem.path));
      const reading = new ConfigDiagnostics(folder);
      readSections(checked.value, env, reading);
      return reading.mistakes.map((mistake) => document.at(mistake.path));
    },
  },
  {
    name: "pipeline-yml",
    seeds: [
      "name: day\nstages:\n  put: {upload: a.csv, to: 'kafka://h:1/t'}\n  play: {replay: a.parquet, to: ['hub://h:1'], speed: 10, loop: true, after: [put]}\n  look: {analyze: [idle], input: lake, output: out, after: [play]}\n",
    ],
    cost: 10,
    parse: inFile("pipeline.yml", (file) => loadPipeline(file, env)),
  },
  {
    name: "web-config",
    seeds: [
      "tls_server_config: {cert_file: c.pem, key_file: k.pem, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem, min_version: TLS12}\nhttp_server_config: {headers: {X-Frame-Options: deny}}\nbasic_auth_users: {a: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}\n",
    ],
    cost: 10,
    parse: inFile("web.yml", (file) => readWebConfig(file, env)),
  },
  {
    name: "sim-scenario",
    seeds: ownFiles("sources/sim/scenarios", ".yaml").slice(0, 6),
    cost: 20,
    parse: each((text) => parseScenario(text, "scenario")),
  },
  {
    name: "templates",
    seeds: goldenTemplates,
    refuses: [TemplateError],
    cost: 2,
    parse: each(checkAlertTemplate, (text) => {
      const set = new TemplateSet({});
      set.add(text, "main");
      return set.run("main", templateData, { maxLength: 10_000, maxSteps: 10_000 });
    }),
  },
  {
    name: "matchers",
    seeds: ['{a="b",c!~"d.*"}', "severity=page", '"ü x"=~"a|b"', 'a!="q\\"x"'],
    parse: each(parseMatchers, parseMatcher),
  },
  {
    name: "times-and-durations",
    seeds: [
      "1h30m",
      "5m",
      "1.5",
      "2026-01-31T14:00:00Z",
      "1790000000.123",
      "0x1F",
      "1e3",
      "info",
      "+Inf",
      "1y2w3d4h5m6s7ms",
      "0.30 7-20=0.42 22-6=0.18",
    ],
    parse: each(
      parseBytes,
      parseDurationMs,
      parseProxy,
      parseScrapeDuration,
      (text) => parseTariff(text, "Europe/Berlin"),
      (text) => parseTariff("0.3", text),
      parseTimeMs,
      readDurationMs,
      readNumber,
      parseLogLevel,
    ),
  },
  {
    name: "tag-expressions",
    seeds: ["gpu_power_watts > 90 and not (utilization < 0.5 or 1 == 2)", "(a + 3) * -2 / temp"],
    parse: each(
      (text) => parseExpression(text, new Set(["a"])),
      (text) => parseCondition(text),
      (text) => parseQuantity(text),
    ),
  },
  {
    name: "relabel-rule",
    // The operator's own file: a longer pattern only hurts its author.
    maxBytes: 65_536,
    seeds: [
      "replace\na,b\n;\n(.*)-(\\d+)\n0\nx_$1\n${2}y",
      "hashmod\na\n;\n.*\n8\nt\n$1",
      "labelmap\n\n;\n__meta_(.+)\n0\n\n$1",
    ],
    cost: 2,
    parse: each((text) => {
      const [action, sources = "", separator, regex, modulus, target_label, replacement] =
        text.split("\n");
      const rule = compileRule({
        action,
        source_labels: sources.split(","),
        separator,
        regex,
        // The schema accepts only integers.
        modulus: Math.trunc(Math.abs(Number(modulus))) || 0,
        target_label,
        replacement,
      });
      return relabel(labelSet({ __name__: "up", a: "web-12", b: "c", __meta_x: "y" }), [rule]);
    }),
  },
  {
    name: "source-and-sink-urls",
    seeds: [
      "sim:8xH100-SXM5-80GB?seed=1",
      "kafka://a:1,b:2/topic?group=g&tls=true",
      "csv:/a/b.csv?columns=x",
      "parquet:s3://bucket/x?endpoint=http://h",
      "influxdb://h:8086/db?precision=ms",
      "remote-write:https://user:pass@h/api/v1/write",
      "mqtt://h:1883/topic?qos=1",
      "loki://h:3100?tenant=a&vendors=nvidia,amd",
      "victoriametrics://h:8428?engine=victoriametrics&tenant=1:2",
      "webhdfs://h:9870/a?user=b",
      "metrics/date=2026-01-02/t.p3.o10-20.parquet",
      "[::1]:9100",
      "http://am:9093/prefix",
      "10.0.0.0/8",
      "[fd00::1]:9092",
    ],
    parse: each(
      parseSource,
      parseSink,
      parseKernelLog,
      parseStoreAddress,
      (text) => parseAddress(text, ["user", "endpoint"]),
      parseAlertmanagerTarget,
      splitHostPort,
      parseRange,
      parsePath,
      parseManifestPath,
      (text) => readSettings({ GPULSE_OUTPUT: text, GPULSE_HUB: text, GPULSE_STREAM: text }),
    ),
  },
  {
    name: "query-parameters",
    seeds: [
      "from=2026-01-31T14:00:00Z&to=now&idle=5m&gpu=GPU-a@-24h",
      "subject=GPU-a@2026-01-31T14:00:00Z",
    ],
    refuses: [PrometheusApiError],
    parse: each(
      (text) => readParameters(Object.fromEntries(new URLSearchParams(text)), 1_790_000_000_000),
      (text) => readSubject("gpu", text, 0, 1_000),
    ),
  },
  {
    name: "discovery",
    seeds: [
      '[{"targets":["a:1","b:2"],"labels":{"x":"y"}}]',
      "search a.b c\noptions ndots:2 timeout:1\nnameserver 1.2.3.4\n",
    ],
    refuses: [Error, SyntaxError],
    parse: each(
      (text) => parseSearchList(text).candidates("host"),
      (text) => readGroups(JSON.parse(text), String, {}),
    ),
  },
  {
    name: "terminal-keys",
    seeds: ["\u001b[A\u001b[<0;10;20Mabc\r\u001b[5~\u001bOP"],
    parse: each(
      (text) => parseInput(text),
      (text) => parseInput(text, true),
    ),
  },
];
