// Invalid values are rejected with a sentence before anything is created; terraform itself validates them, without providers.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { readSettings } from "../../src/cli/lambda/settings.ts";
import { evaluate, needsTerraform, terraform, withoutProviders } from "./terraform/program.ts";

const sshKey =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEbGWOCQ2bSVhvdXwHbmOSLMYyP1hZdNBVi someone@example";
const kms = "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-0000-4000-8000-000000000000";
const clone = { repository_url: "https://example.org/gpulse.git" };

type Values = Readonly<Record<string, unknown>>;
interface Case {
  readonly needed: Values;
  readonly right: readonly Values[];
  readonly wrong: readonly (readonly [string, unknown, Values?])[];
}

const machine: Pick<Case, "right" | "wrong"> = {
  right: [
    { profiles: ["core", "prometheus"] },
    { service_cidrs: { hub: ["198.51.100.0/24"], grafana: [] } },
    { alarm_email: "ops@example.org", disk_gb: 20 },
  ],
  wrong: [
    ["name", "G"],
    ["ssh_cidrs", ["0.0.0.0/0"]],
    ["ssh_cidrs", ["10.0.0.0/7"]],
    ["ssh_cidrs", []],
    ["ssh_cidrs", ["somewhere"]],
    ["service_cidrs", { hub: ["0.0.0.0/0"] }],
    ["service_cidrs", { redis: ["198.51.100.0/24"] }],
    ["egress_ports", [70000]],
    ["repository_url", "http://example.org/gpulse.git"],
    ["repository_url", "https://user:password@example.org/gpulse.git"],
    ["repository_url", "https://example.org/'; reboot; '"],
    ["repository_ref", "--upload-pack=reboot"],
    ["archive_uri", null, { repository_url: null }],
    ["profiles", ["prometheus"]],
    ["profiles", ["core", "everything"]],
    ["profiles", ["core", "streaming"]],
    ["disk_gb", 8],
    ["disk_gb", 30.5],
    ["alarm_email", "ops"],
  ],
};

const cases: Readonly<Record<string, Case>> = {
  "aws-ec2": {
    needed: {
      region: "eu-central-1",
      ssh_public_key: sshKey,
      ssh_cidrs: ["203.0.113.7/32"],
      ...clone,
    },
    right: [
      ...machine.right,
      { region: "us-gov-west-1", instance_type: "t4g.small", use_spot: true, kms_key_arn: kms },
      { profiles: ["core", "streaming"], instance_type: "m7i.2xlarge" },
      { archive_uri: "s3://bucket/releases/gpulse.tar.gz", repository_url: null },
    ],
    wrong: [
      ...machine.wrong,
      ["region", "Frankfurt"],
      ["instance_type", "small"],
      ["instance_type", "t3.micro"],
      ["vpc_cidr", "10.42.0.0/8"],
      ["ssh_public_key", "-----BEGIN OPENSSH PRIVATE KEY-----"],
      ["archive_uri", "s3://bucket/gpulse.tar.gz"],
      ["archive_uri", "s3://bucket/gpulse.zip", { repository_url: null }],
      ["env_parameter_name", "gpulse"],
      ["env_parameter_name", "/aws/x"],
      ["kms_key_arn", "alias/mine"],
      ["monthly_budget_usd", 0],
    ],
  },
  gcp: {
    needed: { project: "my-project", region: "europe-west3", zone: "europe-west3-b", ...clone },
    right: [
      ...machine.right,
      { machine_type: "e2-standard-4", profiles: ["core", "app"], use_spot: true },
      { archive_uri: "gs://bucket/gpulse.tar.gz", repository_url: null },
      { billing_account: "012345-6789AB-CDEF01", budget_currency: "EUR" },
    ],
    wrong: [
      ...machine.wrong,
      ["project", "My Project"],
      ["zone", "us-central1-a"],
      ["machine_type", "medium"],
      ["machine_type", "e2-micro"],
      ["machine_type", "t2a-standard-2"],
      ["subnet_cidr", "10.0.0.0/30"],
      ["env_secret_name", "projects/x/secrets/y"],
      ["kms_key_id", "mine"],
      ["billing_account", "12"],
      ["monthly_budget", 0],
      ["budget_currency", "euro"],
    ],
  },
  "aws-serverless": {
    needed: { region: "eu-central-1" },
    right: [
      { upload_prefix: "logs/", output_prefix: "a/b", kms_key_arn: kms, runtime: "nodejs24.x" },
      { gpu_name: "GeForce RTX 4090", gpu_vendor: "nvidia", timezone: "Europe/Berlin" },
      { processed_retention_days: 400, timezone: "+02:00", reserved_concurrency: 5 },
    ],
    wrong: [
      ["name", "Gpulse_"],
      ["region", "eu"],
      ["bundle_path", "dist/lambda/main.js"],
      ["runtime", "nodejs18.x"],
      ["architecture", "riscv"],
      ["memory_mb", 64],
      ["timeout_seconds", 901],
      ["reserved_concurrency", 0],
      ["upload_prefix", "logs"],
      ["output_prefix", "/lake/"],
      ["raw_retention_days", 0],
      ["processed_retention_days", 0],
      ["log_retention_days", 2],
      ["kms_key_arn", "alias/mine"],
      ["gpu_name", " "],
      ["gpu_vendor", "matrox"],
      ["host_name", "a b"],
      ["timezone", "Berlin time"],
      ["thresholds", { "High Power": 250 }],
      ["max_upload_bytes", 0.5],
      ["alarm_email", "nobody"],
      ["monthly_budget_usd", -1],
    ],
  },
};
const bucket = { 'aws_s3_bucket.data["processed"].id': '"gpulse-processed"' };

test.for(Object.entries(cases))(
  "%s takes what is right and names what is wrong",
  { timeout: 120_000 },
  async ([name, { needed, right, wrong }], context) => {
    needsTerraform(context);
    const scratch = withoutProviders(name, bucket);
    try {
      const runs = [
        ...[{}, ...right].map((values, at) => runBlock(`right_${at}`, { ...needed, ...values })),
        ...wrong.map(([variable, value, rest], at) =>
          runBlock(`wrong_${at}`, { ...needed, ...rest, [variable]: value }, variable),
        ),
      ];
      writeFileSync(path.join(scratch.folder, "tests", "all.tftest.hcl"), runs.join("\n"));
      const done = await terraform(["test", "-json"], { cwd: scratch.folder });
      const outcomes = done.stdout.split("\n").flatMap(outcomeOf);
      const failed = outcomes.filter(({ status }) => status !== "pass");
      const cause = (run: string): unknown =>
        run.startsWith("wrong_") ? wrong[Number(run.slice(6))] : right[Number(run.slice(6)) - 1];
      expect(failed.map((one) => ({ ...one, values: cause(one.run) }))).toEqual([]);
      expect(outcomes).toHaveLength(runs.length);
    } finally {
      scratch.remove();
    }
  },
);

function runBlock(name: string, values: Values, fails?: string): string {
  const lines = Object.entries(values).map(([key, value]) => `    ${key} = ${literal(value)}`);
  const expected = fails === undefined ? "" : `  expect_failures = [var.${fails}]\n`;
  return `run "${name}" {\n  command = plan\n  variables {\n${lines.join("\n")}\n  }\n${expected}}\n`;
}

/** JSON is a valid Terraform literal except for its templates. */
const literal = (value: unknown): string => JSON.stringify(value).replaceAll("${", "$${");

function outcomeOf(line: string): { run: string; status: string }[] {
  if (line === "") return [];
  const { type, test_run: reported } = JSON.parse(line) as {
    type: string;
    test_run?: { run: string; progress: string; status?: string };
  };
  if (type !== "test_run" || reported?.progress !== "complete") return [];
  return [{ run: reported.run, status: reported.status ?? "" }];
}

test.for([
  [{}, { output: "s3://gpulse-processed/lake?region=eu-central-1", host: undefined }],
  [
    {
      output_prefix: "a/b",
      host_name: "gaming-pc",
      gpu_name: "GeForce RTX 4090",
      gpu_vendor: "nvidia",
      timezone: "Europe/Berlin",
      thresholds: { high_power: 250 },
      max_upload_bytes: 1000,
    },
    {
      output: "s3://gpulse-processed/a/b?region=eu-central-1",
      host: "gaming-pc",
      gpuName: "GeForce RTX 4090",
      vendor: "nvidia",
      maxBytes: 1000,
      rules: { thresholds: { high_power: 250 } },
    },
  ],
] as const)(
  "the function takes the environment it is given: %j",
  async ([given, want], context) => {
    needsTerraform(context);
    const scratch = withoutProviders("aws-serverless", bucket);
    try {
      const values = { region: "eu-central-1", ...given };
      const environment = await evaluate(scratch.folder, "local.environment", values);
      expect(readSettings(environment as Record<string, string>)).toMatchObject(want);
    } finally {
      scratch.remove();
    }
  },
);
