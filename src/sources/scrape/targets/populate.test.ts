import { expect, test } from "vitest";
import { scrapeConfig } from "../../../../test/fixtures/sources/scrape.ts";
import { populateTarget } from "./populate.ts";
import { Target } from "./target.ts";

const config = scrapeConfig({ params: { module: ["http_2xx", "other"] } });

function targetOf(labels: Record<string, string>, group: Record<string, string> = {}) {
  const made = populateTarget(labels, group, config);
  if (made.is !== "active") throw new Error(made.is === "broken" ? made.why : "dropped");
  return new Target({ ...made, params: config.params });
}

test("a target gets the job's defaults, and its address as instance", () => {
  const target = targetOf({ __address__: "host:9100" }, { env: "prod" });
  expect(Object.fromEntries(target.publicLabels)).toEqual({
    env: "prod",
    instance: "host:9100",
    job: "job",
  });
  expect(Object.fromEntries(target.discovered)).toEqual({
    __address__: "host:9100",
    __metrics_path__: "/metrics",
    __param_module: "http_2xx",
    __scheme__: "http",
    __scrape_interval__: "15s",
    __scrape_timeout__: "10s",
    env: "prod",
    job: "job",
  });
  expect(target.url).toBe("http://host:9100/metrics?module=http_2xx&module=other");
});

test("what a target says itself wins over its group and the defaults", () => {
  const target = targetOf(
    {
      __address__: "host",
      job: "own",
      __scheme__: "https",
      __metrics_path__: "/p q?",
      __param_a: "x y",
    },
    { job: "group" },
  );
  expect(Object.fromEntries(target.publicLabels)).toEqual({ instance: "host:443", job: "own" });
  expect(target.url).toBe("https://host:443/p%20q%3F?a=x+y&module=http_2xx&module=other");
});

test.for([
  ["host", "host:80"],
  ["127.0.0.1", "127.0.0.1:80"],
  ["host:9100", "host:9100"],
  ["[::1]", "[::1]:80"],
  ["[::1]:9100", "[::1]:9100"],
  [":9100", ":9100"],
] as const)("the address %s is scraped at %s", ([address, want]) => {
  expect(Object.fromEntries(targetOf({ __address__: address }).labels)["__address__"]).toBe(want);
});

test.for([
  [{}, /no __address__/],
  [{ __address__: "http://host/metrics" }, /not a valid host/],
  [{ __address__: "host", __scheme__: "ftp" }, /scheme is "ftp"/],
  [{ __address__: "host", __scrape_interval__: "soon" }, /__scrape_interval__/],
  [{ __address__: "host", __scrape_interval__: "0s" }, /__scrape_interval__/],
  [{ __address__: "host", __scrape_interval__: "5s" }, /timeout is longer/],
] as [Record<string, string>, RegExp][])("a target with %j is refused", ([labels, why]) => {
  const made = populateTarget(labels, {}, config);
  expect(made).toMatchObject({ is: "broken", why: expect.stringMatching(why) as string });
});

test("meta labels are there for rules and gone afterwards", () => {
  const target = targetOf({ __address__: "host:1", __meta_x: "y" });
  expect(target.labels.some(([name]) => name.startsWith("__meta_"))).toBe(false);
  expect(Object.fromEntries(target.discovered)["__meta_x"]).toBe("y");
});

test("equal labels and address are one target, others are not", () => {
  const [one, same, other] = ["a:1", "a:1", "b:1"].map((host) => targetOf({ __address__: host }));
  expect(one?.identity).toBe(same?.identity);
  expect(one?.identity).not.toBe(other?.identity);
});
