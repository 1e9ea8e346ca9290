// Checks what the modules open, allow and leave readable against short allowlists; every entry has its reason.

import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import {
  type Block,
  blocksIn,
  declaredBlocks,
  moduleNames,
  moduleText,
  nested,
  ofType,
  parseModule,
  terraformFolder,
} from "./terraform/module.ts";

const modules = Object.fromEntries(
  await Promise.all(
    moduleNames.map(async (name) => [name, await parseModule(moduleText(name))] as const),
  ),
);
const moduleOf = (name: string) => modules[name] ?? {};
const blocksOf = (name: string, type: string): readonly Block[] =>
  ofType(moduleOf(name), type).map(({ block }) => block);
const theBlock = (name: string, type: string): Block => {
  const blocks = blocksOf(name, type);
  if (blocks.length !== 1) throw new Error(`${name} has ${blocks.length} ${type}`);
  return blocks[0] ?? {};
};
const servicePorts = { agent: 9400, hub: 9410, grafana: 3000, prometheus: 9090 };

test("on EC2 only SSH and named services come in, from given ranges alone", () => {
  const rules = ofType(moduleOf("aws-ec2"), "aws_vpc_security_group_ingress_rule");
  const shown = rules.map(({ name, block: { from_port, to_port, ip_protocol, cidr_ipv4 } }) => ({
    name,
    ports: [from_port, to_port, ip_protocol],
    cidr_ipv4,
  }));
  const port = "${local.service_ports[each.value.service]}";
  expect(shown).toEqual([
    { name: "service", ports: [port, port, "tcp"], cidr_ipv4: "${each.value.cidr}" },
    { name: "ssh", ports: [22, 22, "tcp"], cidr_ipv4: "${each.value}" },
  ]);
  const [local] = (moduleOf("aws-ec2").locals ?? []).filter((one) => "service_ports" in one);
  expect(local?.["service_ports"]).toEqual(servicePorts);
  // Rules inside a group would bypass these checks.
  const groups = [
    ...blocksOf("aws-ec2", "aws_security_group"),
    ...blocksOf("aws-ec2", "aws_default_security_group"),
  ];
  expect(groups.filter((group) => "ingress" in group || "egress" in group)).toEqual([]);
  expect(groups).toHaveLength(2);
});

test("on Google Cloud only SSH and named services come in, from given ranges alone", () => {
  const rules = ofType(moduleOf("gcp"), "google_compute_firewall");
  const incoming = rules.filter(({ block }) => block["direction"] === "INGRESS");
  expect(
    incoming.map(({ name, block }) => [name, block["source_ranges"], nested(block, "allow")]),
  ).toEqual([
    [
      "service",
      "${each.value}",
      [{ protocol: "tcp", ports: ["${tostring(local.service_ports[each.key])}"] }],
    ],
    ["ssh", "${var.ssh_cidrs}", [{ protocol: "tcp", ports: ["22"] }]],
  ]);
  const [local] = (moduleOf("gcp").locals ?? []).filter((one) => "service_ports" in one);
  expect(local?.["service_ports"]).toEqual(servicePorts);
  const denied = rules.filter(({ block }) => nested(block, "deny").length > 0);
  expect(denied.map(({ name, block }) => [name, block["direction"]])).toEqual([
    ["nothing_else_out", "EGRESS"],
  ]);
});

/** Rules for the whole Internet, with the reason: all of them are outbound. */
const everywhere: Readonly<Record<string, string>> = {
  "aws_route_table.this": "a route out, opened by no rule",
  "aws_vpc_security_group_egress_rule.out": "packages and images, on var.egress_ports alone",
  "google_compute_firewall.out": "packages and images, on var.egress_ports alone",
  "google_compute_firewall.nothing_else_out": "a denial",
};

test.for(["aws-ec2", "gcp"])("on %s packages, images and mail go out by default", (name) => {
  const [egress] = moduleOf(name).variable?.["egress_ports"] ?? [];
  expect(egress?.["default"]).toEqual([80, 443, 587]);
  const { SMTP_PORT = "" } = Object.fromEntries(
    readFileSync(path.join(terraformFolder, "../compose/.env.example"), "utf8")
      .split("\n")
      .map((line) => line.split("=", 2)),
  ) as Record<string, string>;
  expect(egress?.["default"]).toContain(Number(SMTP_PORT));
});

test("the whole Internet is named only on the way out", () => {
  const named = moduleNames.flatMap((name) =>
    [...declaredBlocks(moduleOf(name))]
      .filter(({ block }) => /0\.0\.0\.0\/0|::\/0/.test(JSON.stringify(block)))
      .map(({ type, name: own }) => `${type}.${own}`),
  );
  expect(named.toSorted()).toEqual(Object.keys(everywhere).toSorted());
});

test("no range that is given by default is the whole Internet", () => {
  const defaults = moduleNames.flatMap((name) =>
    Object.values(moduleOf(name).variable ?? {}).map(([block]) =>
      JSON.stringify(block?.["default"]),
    ),
  );
  expect(defaults.filter((text) => /0\.0\.0\.0|::\//.test(text ?? ""))).toEqual([]);
});

const statementsOf = (name: string): readonly Block[] =>
  blocksOf(name, "aws_iam_policy_document").flatMap((block) => nested(block, "statement"));
const allowsOf = (name: string) => statementsOf(name).filter(({ effect }) => effect !== "Deny");

test.for([
  ["aws-ec2", ["kms:Decrypt", "s3:GetObject", "sns:Publish", "ssm:GetParameter", "sts:AssumeRole"]],
  [
    "aws-serverless",
    [
      "kms:Decrypt",
      "kms:GenerateDataKey",
      "logs:CreateLogStream",
      "logs:PutLogEvents",
      "s3:DeleteObject",
      "s3:GetObject",
      "s3:ListBucket",
      "s3:PutObject",
      "sns:Publish",
      "sqs:SendMessage",
      "sts:AssumeRole",
    ],
  ],
] as const)("%s allows these actions and no others", ([name, actions]) => {
  const allowed = allowsOf(name).flatMap((one) => one["actions"] as readonly string[]);
  expect([...new Set(allowed)].toSorted()).toEqual(actions);
});

test.for(["aws-ec2", "aws-serverless"])("%s allows nothing on everything", (name) => {
  for (const statement of allowsOf(name)) {
    const {
      actions,
      resources = [],
      principals,
    } = statement as {
      actions: readonly string[];
      resources?: readonly string[];
      principals?: unknown;
    };
    // A trust policy restricts by principal, not by resource.
    if (actions.join() !== "sts:AssumeRole") expect(resources.length).toBeGreaterThan(0);
    // A star is allowed only after one of our ARNs and a slash, a colon or a prefix.
    const wide = resources.filter(
      (one) => one === "*" || (one.includes("*") && !/^\$\{aws_[^}]+\.arn\}[/:].*\*$/.test(one)),
    );
    expect(wide).toEqual([]);
    expect(actions.filter((one) => one.includes("*"))).toEqual([]);
    for (const { identifiers } of blocksIn(principals))
      expect(JSON.stringify(identifiers)).toMatch(/^\["[a-z0-9]+\.amazonaws\.com"\]$/);
  }
});

test("what is denied to everybody is denied for want of TLS", () => {
  const denials = statementsOf("aws-serverless").filter(({ effect }) => effect === "Deny");
  expect(denials).toHaveLength(1);
  expect(blocksIn(denials[0]?.["condition"])).toEqual([
    { test: "Bool", variable: "aws:SecureTransport", values: ["false"] },
  ]);
});

test("no policy is attached that is written elsewhere", () => {
  const types = moduleNames.flatMap((name) =>
    declaredBlocks(moduleOf(name)).map(({ type }) => type),
  );
  expect(
    types.filter((type) => /policy_attachment|project_iam|user|access_key/.test(type)),
  ).toEqual([]);
});

test("the machine of Google Cloud reads one secret and one object", () => {
  const { secret_id, role } = theBlock("gcp", "google_secret_manager_secret_iam_member");
  expect([secret_id, role]).toEqual([
    "${var.env_secret_name}",
    "roles/secretmanager.secretAccessor",
  ]);
  const archive = theBlock("gcp", "google_storage_bucket_iam_member");
  expect(archive["role"]).toBe("roles/storage.objectViewer");
  expect(blocksIn(archive["condition"])[0]?.["expression"]).toMatch(/^resource\.name == /);
});

test("both buckets are encrypted, private, owned and reached by TLS", () => {
  const each = "${local.buckets}";
  const bucket = "${aws_s3_bucket.data[each.key].id}";
  for (const type of [
    "aws_s3_bucket_public_access_block",
    "aws_s3_bucket_ownership_controls",
    "aws_s3_bucket_server_side_encryption_configuration",
    "aws_s3_bucket_versioning",
    "aws_s3_bucket_lifecycle_configuration",
    "aws_s3_bucket_policy",
  ])
    expect(theBlock("aws-serverless", type)).toMatchObject({ for_each: each, bucket });
  expect(theBlock("aws-serverless", "aws_s3_bucket")["for_each"]).toBe(each);
  expect(theBlock("aws-serverless", "aws_s3_bucket_public_access_block")).toMatchObject({
    block_public_acls: true,
    block_public_policy: true,
    ignore_public_acls: true,
    restrict_public_buckets: true,
  });
  const [rule = {}] = nested(
    theBlock("aws-serverless", "aws_s3_bucket_server_side_encryption_configuration"),
    "rule",
  );
  const [encryption] = nested(rule, "apply_server_side_encryption_by_default");
  expect(encryption?.["sse_algorithm"]).toBe('${var.kms_key_arn == null ? "AES256" : "aws:kms"}');
  expect(theBlock("aws-serverless", "aws_sqs_queue")["sqs_managed_sse_enabled"]).toBe(true);
});

test("the function is started by its own bucket alone", () => {
  expect(theBlock("aws-serverless", "aws_lambda_permission")).toMatchObject({
    action: "lambda:InvokeFunction",
    principal: "s3.amazonaws.com",
    source_arn: '${aws_s3_bucket.data["raw"].arn}',
    source_account: "${data.aws_caller_identity.current.account_id}",
  });
  expect(theBlock("aws-serverless", "aws_s3_bucket_notification")["bucket"]).toBe(
    '${aws_s3_bucket.data["raw"].id}',
  );
});

test("EC2's machine has an encrypted disk, asks for tokens, and cannot run up a bill of CPU credits", () => {
  const machine = theBlock("aws-ec2", "aws_instance");
  expect(nested(machine, "root_block_device")[0]).toMatchObject({ encrypted: true });
  expect(nested(machine, "metadata_options")[0]).toEqual({
    http_endpoint: "enabled",
    http_tokens: "required",
    http_put_response_hop_limit: 1,
  });
  expect(nested(machine, "credit_specification")[0]).toEqual({ cpu_credits: "standard" });
  expect(nested(machine, "instance_market_options")[0]).toMatchObject({ market_type: "spot" });
});

test("Google Cloud's machine boots verified and lets nobody in by a project's key", () => {
  const machine = theBlock("gcp", "google_compute_instance");
  expect(nested(machine, "shielded_instance_config")[0]).toEqual({
    enable_secure_boot: true,
    enable_vtpm: true,
    enable_integrity_monitoring: true,
  });
  expect(machine["metadata"]).toMatchObject({
    "enable-oslogin": "TRUE",
    "block-project-ssh-keys": "TRUE",
    "serial-port-enable": "FALSE",
  });
  expect(nested(machine, "scheduling")[0]).toMatchObject({ preemptible: "${var.use_spot}" });
});

test("logs end, alarms reach somebody, and spending is watched", () => {
  expect(theBlock("aws-serverless", "aws_cloudwatch_log_group")["retention_in_days"]).toBe(
    "${var.log_retention_days}",
  );
  for (const name of ["aws-ec2", "aws-serverless"]) {
    const alarms = blocksOf(name, "aws_cloudwatch_metric_alarm");
    expect(alarms.length).toBeGreaterThan(1);
    for (const alarm of alarms)
      expect(alarm["alarm_actions"]).toBe("${aws_sns_topic.alarms[*].arn}");
    expect(nested(theBlock(name, "aws_budgets_budget"), "notification")).toHaveLength(2);
  }
  for (const policy of blocksOf("gcp", "google_monitoring_alert_policy"))
    expect(policy["notification_channels"]).toBe(
      "${google_monitoring_notification_channel.email[*].id}",
    );
  expect(nested(theBlock("gcp", "google_billing_budget"), "threshold_rules")).toHaveLength(2);
});

test("Terraform reads no secret, since its state would hold it", () => {
  const read = moduleNames.flatMap((name) =>
    declaredBlocks(moduleOf(name)).filter(
      ({ kind, type }) =>
        (kind === "data" && /secret|ssm_parameter/.test(type)) ||
        (kind === "resource" && /secret_version|ssm_parameter$|password/.test(type)),
    ),
  );
  expect(read.map(({ type, block }) => [type, String(block["name"]).slice(0, 13)])).toEqual([
    ["aws_ssm_parameter", "/aws/service/"],
  ]);
  const names = moduleNames.flatMap((name) => Object.keys(moduleOf(name).variable ?? {}));
  expect(names.filter((name) => /token|password|private|secret(?!_name)/.test(name))).toEqual([]);
});
