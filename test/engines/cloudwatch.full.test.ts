// The CloudWatch sink against a server that checks signatures and permissions (moto), read back by Amazon's own client
// (boto3).

import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { type RunningS3, type S3Keys, s3Python, startS3 } from "../../engines/s3.ts";
import { startGpulse } from "./stream-lab.ts";

let started: Promise<RunningS3> | undefined;
beforeAll(ensureBuild, 300_000);
afterAll(async () => (await started)?.stop());

const server = (context: TestContext): Promise<RunningS3> =>
  orSkip(context, (started ??= startS3()));

const environment = ({ accessKeyId, secretAccessKey }: S3Keys): Record<string, string> => ({
  AWS_ACCESS_KEY_ID: accessKeyId,
  AWS_SECRET_ACCESS_KEY: secretAccessKey,
  AWS_REGION: "us-east-1",
});

const readScript = `
import json, sys, boto3
client = boto3.client("cloudwatch", endpoint_url=sys.argv[1])
found = {}
for page in client.get_paginator("list_metrics").paginate(Namespace="lab"):
    for metric in page["Metrics"]:
        points = client.get_metric_statistics(Namespace="lab", MetricName=metric["MetricName"], Dimensions=metric["Dimensions"],
            StartTime="2020-01-01T00:00:00Z", EndTime="2099-01-01T00:00:00Z", Period=60, Statistics=["SampleCount", "Minimum", "Maximum", "Average"])
        one = found.setdefault(metric["MetricName"], {"series": 0, "samples": 0, "least": None, "dimensions": []})
        one["series"] += 1
        one["samples"] += sum(point["SampleCount"] for point in points["Datapoints"])
        one["least"] = min(point["Minimum"] for point in points["Datapoints"])
        one["dimensions"] = sorted(pair["Name"] for pair in metric["Dimensions"])
        one["unit"] = points["Datapoints"][0]["Unit"]
print(json.dumps(found))
`;

test("statistics of every GPU arrive, signed and compressed, and boto3 reads them back", async (context) => {
  const { endpoint, owner } = await server(context);
  const to = `cloudwatch:lab?endpoint=${endpoint}&metrics=gpu_power_watts,gpu_memory_used_bytes`;
  const from = "sim:40?interval=1s&seed=1";
  const pipe = startGpulse(["pipe", "--from", from, "--for", "3s", "--to", to], environment(owner));
  expect((await pipe.waitForExit(120_000)).code, pipe.output()).toBe(0);
  const { code, stdout, stderr } = await runProcess(
    await s3Python(),
    ["-c", readScript, endpoint],
    { timeoutMs: 120_000, env: { ...environment(owner), AWS_DEFAULT_REGION: "us-east-1" } },
  );
  expect(code, stderr).toBe(0);
  const found = JSON.parse(stdout) as Record<string, { samples: number; least: number }>;
  expect(found).toMatchObject({
    gpu_power_watts: { series: 40, unit: "None", dimensions: ["gpu", "host", "uuid"] },
    gpu_memory_used_bytes: { series: 40, unit: "Bytes" },
  });
  expect(Object.keys(found)).toHaveLength(2);
  expect(found["gpu_power_watts"]?.samples).toBeGreaterThanOrEqual(80);
  expect(found["gpu_power_watts"]?.least).toBeGreaterThan(0);
}, 300_000);

test("wrong keys, missing rights, no keys and no region are said with what to do", async (context) => {
  const { endpoint, owner, reader } = await server(context);
  const none = { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "", AWS_REGION: "us-east-1" };
  const cases: readonly (readonly [env: Record<string, string>, says: RegExp])[] = [
    [
      environment({ ...owner, secretAccessKey: "wrong" }),
      /SignatureDoesNotMatch.*Check AWS_ACCESS_KEY_ID/s,
    ],
    [environment({ ...owner, accessKeyId: "AKIAUNKNOWN000000000" }), /InvalidClientTokenId/],
    [environment(reader), /AccessDenied.*cloudwatch:PutMetricData/s],
    [
      { ...none, AWS_PROFILE: "nobody", AWS_SHARED_CREDENTIALS_FILE: "/dev/null" },
      /There are no AWS credentials/,
    ],
    [{ ...environment(owner), AWS_REGION: "" }, /CloudWatch needs a region/],
  ];
  for (const [env, says] of cases) {
    const to = `cloudwatch:lab?endpoint=${endpoint}`;
    const pipe = startGpulse(["pipe", "--from", "sim:1", "--for", "1s", "--to", to], env);
    expect((await pipe.waitForExit(60_000)).code, pipe.output()).not.toBe(0);
    expect(pipe.output()).toMatch(says);
    expect(pipe.output()).not.toContain(owner.secretAccessKey);
  }
}, 120_000);
