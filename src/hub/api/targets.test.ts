import Fastify from "fastify";
import { expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { noDiscovery, scrapeConfig } from "../../../test/fixtures/sources/scrape.ts";
import { Scraper } from "../../sources/scrape/scraper.ts";
import { addTargets } from "./targets.ts";

test("a job that is loaded and inactive is among the pools, with its reason", async () => {
  const scraper = new Scraper({
    write: async () => undefined,
    log: silentLog,
    nowMs: () => 0,
    version: "1",
    seed: "",
    env: {},
    random: () => 0,
  });
  const reason = "none of its discoveries is supported.";
  scraper.apply([
    scrapeConfig({ jobName: "consul", inactive: reason }),
    scrapeConfig({ jobName: "node", discovery: noDiscovery }),
  ]);
  const app = Fastify();
  const { pools } = scraper;
  const loaded = { ok: true, timeMs: 0 };
  addTargets(app, { pools, yaml: "", loaded, reload: async () => undefined }, "host");
  const ask = async (url: string): Promise<unknown> =>
    (await app.inject(url)).json<{ data: unknown }>().data;
  expect(await ask("/api/v1/scrape_pools")).toEqual({ scrapePools: ["consul", "node"] });
  expect(await ask("/api/v1/targets")).toMatchObject({
    activeTargets: [],
    inactivePools: [{ scrapePool: "consul", reason }],
  });
  expect(await ask("/api/v1/targets?scrapePool=node")).toMatchObject({ inactivePools: [] });
  await app.close();
  await scraper.close();
});
