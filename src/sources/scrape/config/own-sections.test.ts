import { expect, test } from "vitest";
import { checkText } from "../../../config/file.ts";
import * as v from "valibot";
import { labelSet } from "../../../model/labels.ts";
import { ownKeys } from "./own-keys.ts";
import { checkOwnSections, readOwnSections } from "./own-sections.ts";

const schema = v.strictObject(ownKeys);

/** Reads text like gpulse.yaml: secrets resolved, the outline checked. */
async function own(text: string, env: Readonly<Record<string, string>> = {}) {
  const checked = await checkText(text, "gpulse.yaml", schema, env);
  if (!checked.ok) throw new Error(checked.problems.map(({ sentence }) => sentence).join("\n"));
  return readOwnSections(checked.value, "/etc/gpulse", () => "gpulse.yaml");
}

test("jobs in gpulse.yaml mean what they mean in a prometheus.yml", async () => {
  const { scrapeConfigs, global } = await own(`
global: { scrape_interval: 15s, external_labels: { site: north } }
scrape_configs:
  - job_name: node
    sample_limit: 100
    honor_labels: true
    tls_config: { ca_file: ca.pem }
    static_configs: [{ targets: [127.0.0.1:9100], labels: { rack: 7 } }]
`);
  expect(scrapeConfigs).toMatchObject([
    {
      jobName: "node",
      intervalMs: 15_000,
      honorLabels: true,
      limits: { samples: 100 },
      http: { tls: { caFile: "/etc/gpulse/ca.pem" } },
      discovery: { static: [{ targets: ["127.0.0.1:9100"], labels: labelSet({ rack: "7" }) }] },
    },
  ]);
  expect(global.externalLabels).toEqual(labelSet({ site: "north" }));
});

test("secrets come from variables, and stay hidden", async () => {
  const { remoteWrite } = await own(
    "remote_write: [{ url: 'http://127.0.0.1/write', basic_auth: { username: me, password: '${PW}' } }]",
    { PW: "hunter2" },
  );
  expect(remoteWrite[0]?.http.basicAuth?.password?.reveal()).toBe("hunter2");
  expect(JSON.stringify(remoteWrite)).not.toContain("hunter2");
});

test("nothing given is nothing to do", async () => {
  const config = await own("{}");
  expect(config.scrapeConfigs).toEqual([]);
  expect(config.remoteWrite).toEqual([]);
  expect(config.unsupported).toEqual([]);
});

const wrong: readonly (readonly [string, RegExp])[] = [
  [
    "scrape_configs: [{ job_nam: a }]",
    /gpulse\.yaml: scrape_configs\[0\]\.job_name is missing\. \(1 more\)/,
  ],
  ["scrape_configs: [{ job_name: a }, { job_name: a }]", /there are two jobs named "a"/],
  ["scrape_configs: [{ job_name: a, no_proxy: b }]", /no_proxy needs proxy_url/],
  ["scrape_configs: a", /"scrape_configs" must be a list/],
  [
    "global: { scrape_intervall: 5s }",
    /unknown key global\.scrape_intervall\. Did you mean "scrape_interval"/,
  ],
  ["remote_write: [{ url: nowhere }]", /remote_write\[0\]\.url is not supported: it needs a URL/],
];

test.each(wrong)("%s is refused", async (text, says) => {
  await expect(own(text)).rejects.toThrow(says);
});

test("what does nothing here is named", () => {
  const checked = checkOwnSections(
    { scrape_configs: [{ job_name: "a", ec2_sd_configs: [{}] }] },
    "/etc/gpulse",
  );
  expect(checked).toMatchObject({
    ok: true,
    value: {
      unsupported: [
        expect.stringMatching(/^scrape_configs\[0\]\.ec2_sd_configs is not supported: /),
        'scrape_configs[0]: the job "a" is inactive: none of its discoveries is supported.',
      ],
    },
  });
});
