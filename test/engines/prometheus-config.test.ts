// Real promtool and `gpulse config check` on the same small files: gpulse loads every file that Prometheus loads, and
// rejects invalid ones in supported sections with the same line. The tables below list the differences, each with its
// reason.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { runConfigCheck } from "../../src/cli/config/run.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-promtool-"));
  const rule = (expr: string): string =>
    `groups: [{ name: a, rules: [{ record: b, expr: ${expr} }] }]\n`;
  for (const [name, text] of Object.entries({
    token: "t",
    "good.rules": rule("up"),
    "two.rules": `${rule("up")}---\n${rule('"up +"')}`,
    "bad.rules": rule('"up +"'),
    "targets.yml": "- targets: [a:1]\n",
    "url.yml": '- targets: ["http://a:1"]\n',
    "key.yml": '- tagets: ["a:1"]\n',
    "label.yml": '- targets: ["a:1"]\n  labels: { "": x }\n',
  }))
    writeFileSync(path.join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const job = (...lines: readonly string[]): string =>
  ["scrape_configs:", "- job_name: a", ...lines.map((line) => `  ${line}`), ""].join("\n");
const write = (...lines: readonly string[]): string =>
  ["remote_write:", "- url: http://h/w", ...lines.map((line) => `  ${line}`), ""].join("\n");
const relabel = (rule: string): string => job(`relabel_configs: [{ ${rule} }]`);
const relabeled = (target: string, rule: string): string =>
  job(`static_configs: [{ targets: ["${target}"] }]`, `relabel_configs: [{ ${rule} }]`);
const manager = (text: string): string => `alerting: { alertmanagers: [{ ${text} }] }\n`;

const loads: readonly string[] = [
  "",
  "global:\n",
  "scrape_configs:\n",
  "---\nglobal: {}\n...\n",
  "global: {}\n---\nglobal: { x: 1 }\n",
  "global: {}\n---\n{[ :\n",
  "scrape_configs:\n- &a\n  job_name: a\n- <<: *a\n  job_name: b\n",
  "remote_write:\n- url: localhost:9090/api\n",
  "remote_write:\n- url: /api/v1/write\n",
  "remote_write:\n- url: host\n",
  "remote_write:\n- url: ftp://h/x\n",
  'remote_write:\n- url: ""\n',
  write("queue_config: { min_shards: 5, max_shards: 2 }"),
  write("queue_config: { min_backoff: 10s, max_backoff: 1s }"),
  write("basic_auth: { username: a, password_file: nope }"),
  write("tls_config: { ca_file: nope }"),
  write("sigv4: { region: x }"),
  job("ec2_sd_configs: [{ region: us-east-1 }]"),
  job("azure_sd_configs: [{ subscription_id: a, tenant_id: b, client_id: c, client_secret: d }]"),
  job("gce_sd_configs: [{ project: a, zone: b }]"),
  job('docker_sd_configs: [{ host: "unix:///var/run/docker.sock" }]'),
  job("openstack_sd_configs: [{ role: instance, region: RegionOne }]"),
  job("dns_sd_configs: [{ names: [a], type: srv }]"),
  job("proxy_url: http://p:3128"),
  job('oauth2: { client_id: a, client_secret: b, token_url: "http://x" }'),
  job("scheme: ftp"),
  job("scheme: HTTPS"),
  job('scheme: ""'),
  job('metrics_path: ""'),
  job("params: { a: [null] }"),
  job("sample_limit: 1.5"),
  job("sample_limit: 1_000"),
  job("sample_limit: 0x10"),
  job("body_size_limit: -1MB"),
  job("tls_config: { min_version: TLS13, max_version: TLS12 }"),
  job("tls_config: { ca_file: nope }"),
  job("basic_auth: { username: a, password_file: nope }"),
  job("authorization: { credentials_file: token }"),
  job('http_sd_configs: [{ url: "http://a/b", authorization: { credentials_file: nope } }]'),
  job("file_sd_configs: [{ files: [nope.yml] }]"),
  job("file_sd_configs: [{ files: [targets.yml] }]"),
  relabeled("http://a:1", "source_labels: [__address__], action: drop"),
  relabeled("http://a:1", 'target_label: __address__, replacement: "b:9115"'),
  relabel("action: Keep, source_labels: [a], regex: x"),
  relabel('source_labels: [a], target_label: "${1}"'),
  'rule_files: ["nope*.yml"]\n',
  "rule_files: [good.rules, two.rules]\n",
  manager("scheme: ftp, static_configs: [{ targets: [a:1] }]"),
  manager("authorization: { credentials_file: nope }, static_configs: [{ targets: [a:1] }]"),
];

/** The error and its line; 0 if the error is in another file. */
const refused: readonly (readonly [text: string, line: number])[] = [
  ["global: {}\nglobal: {}\n", 2],
  ["global:\n\tscrape_interval: 1s\n", 2],
  ["global: { scrape_interval: -1s }\n", 1],
  ["global: { scrape_interval: 15 }\n", 1],
  ['global: { external_labels: { "": x } }\n', 1],
  ["scrape_configs:\n- \n", 2],
  ["remote_write:\n- url: 127.0.0.1:9090/api\n", 2],
  ['remote_write:\n- url: "http://[::1"\n', 2],
  ['remote_write:\n- url: "http://h:port/"\n', 2],
  ["remote_write:\n- name: x\n", 2],
  [write("basic_auth: { username: a }", "sigv4: { region: x }"), 2],
  [write("name: x", "headers: { Host: x }"), 4],
  [job("scrape_intervall: 1s"), 3],
  [job("foo_sd_configs: [{}]"), 3],
  [job("sample_limit: -1"), 3],
  [job("body_size_limit: 10M"), 3],
  [job("params: { a: b }"), 3],
  [job('static_configs: [{ targets: ["http://a:1"] }]'), 3],
  [job('static_configs: [{ targets: [""] }]'), 3],
  [job('static_configs: [{ targets: [a:1], labels: { "": x } }]'), 3],
  [relabeled("a:1", 'target_label: __address__, replacement: "http://b:1"'), 3],
  [relabeled("http://a:1/x", "source_labels: [foo], target_label: bar"), 3],
  [relabeled("a:1", 'target_label: __address__, replacement: ""'), 3],
  [relabeled("a:1", "target_label: __scrape_interval__, replacement: soon"), 3],
  [relabeled("a:1", "target_label: __scrape_interval__, replacement: 1s"), 3],
  [relabeled("a", "target_label: __scheme__, replacement: ftp"), 3],
  [relabel("source_labels: [a], replacement: x"), 3],
  [relabel('source_labels: [""], target_label: x'), 3],
  [relabel('action: "", target_label: x'), 3],
  [relabel('action: keep, source_labels: [a], regex: "(?=a)"'), 3],
  [relabel("action: hashmod, source_labels: [a], target_label: x"), 3],
  [relabel("action: keepequal, source_labels: [a], target_label: b, modulus: 3"), 3],
  [relabel("action: labeldrop, regex: a, source_labels: []"), 3],
  [job("authorization: { credentials_file: nope }"), 3],
  [job("bearer_token_file: nope"), 3],
  [job("tls_config: { cert_file: nope, key_file: nope }"), 3],
  [job("tls_config: { cert_file: token, key_file: nope }"), 3],
  [job("tls_config: { cert_file: token }"), 3],
  [job("tls_config: { min_version: TLS9 }"), 3],
  [job("dns_sd_configs: [{ names: [a], type: A }]"), 3],
  [job('http_sd_configs: [{ url: "a/b" }]'), 3],
  [job('http_sd_configs: [{ url: "http://" }]'), 3],
  [job("file_sd_configs: [{ files: [url.yml] }]"), 0],
  [job("file_sd_configs: [{ files: [key.yml] }]"), 0],
  [job("file_sd_configs: [{ files: [label.yml] }]"), 0],
  ["rule_files: [nope.yml]\n", 1],
  ["rule_files: [bad.rules]\n", 0],
  [manager('static_configs: [{ targets: ["http://a:1"] }]'), 1],
  [
    manager(
      'static_configs: [{ targets: [a:1] }], relabel_configs: [{ target_label: __address__, replacement: "http://b:1" }]',
    ),
    1,
  ],
];

const differs: readonly (readonly [
  text: string,
  promtool: boolean,
  gpulse: boolean,
  why: string,
])[] = [
  [job('static_configs: [{ targets: [a:1], labels: { "a-b": x } }]'), false, true, "a UTF-8 name"],
  [relabel('source_labels: [a], target_label: "0a"'), false, true, "a UTF-8 name"],
  ['global: { external_labels: { "a-b": x } }\n', false, true, "a UTF-8 name"],
  [
    job('kubernetes_sd_configs: [{ role: pod, selectors: [{ role: pod, label: "!a" }] }]'),
    false,
    true,
    "Debian's promtool has no Kubernetes",
  ],
  [job("consul_sd_configs: [{ server: a:8500 }]"), false, true, "Debian's promtool has no Consul"],
  [write("queue_config: { capacity: 0 }"), true, false, "nothing could be sent"],
  [write("queue_config: { max_shards: 0 }"), true, false, "nothing could be sent"],
  [write("queue_config: { max_samples_per_send: 0 }"), true, false, "Prometheus divides by it"],
  [write("queue_config: { batch_send_deadline: 0s }"), true, false, "sends without a pause"],
  [write("metadata_config: { send_interval: 0s }"), true, false, "Prometheus stops at it"],
  [write("remote_timeout: 0s"), true, false, "no request could succeed"],
  [manager("api_version: v1"), true, false, "Prometheus 3 refuses it"],
];

async function check(promtool: string, text: string) {
  const file = path.join(folder, "prometheus.yml");
  writeFileSync(file, text);
  const theirs = await runProcess(promtool, ["check", "config", file]);
  const stdout = new PassThrough();
  const io = { env: {}, version: "0", stdout, stderr: new PassThrough(), stopped: async () => "" };
  const code = await runConfigCheck(file, { json: true }, io);
  const { problems } = JSON.parse(String(stdout.read())) as {
    problems: readonly { sentence: string }[];
  };
  return {
    promtool: theirs.code === 0,
    gpulse: code === 0,
    lines: problems.map(({ sentence }) =>
      Number(/prometheus\.yml:(\d+):/.exec(sentence)?.[1] ?? 0),
    ),
  };
}

test.for(loads)("both load %j", async (text, context) => {
  const promtool = toolOrSkip(context, "promtool");
  expect(await check(promtool, text)).toEqual({ promtool: true, gpulse: true, lines: [] });
});

test.for(refused)("both refuse %j, at line %d", async ([text, line], context) => {
  const promtool = toolOrSkip(context, "promtool");
  const checked = await check(promtool, text);
  expect(checked).toMatchObject({ promtool: false, gpulse: false });
  expect(checked.lines).toContain(line);
});

test.for(differs)("%j: promtool %j, gpulse %j: %s", async ([text, theirs, ours], context) => {
  const promtool = toolOrSkip(context, "promtool");
  const { promtool: accepts, gpulse } = await check(promtool, text);
  expect({ accepts, gpulse }).toEqual({ accepts: theirs, gpulse: ours });
});
