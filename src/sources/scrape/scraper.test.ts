import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { type Log, silentLog } from "../../base/log.ts";
import type { ScrapeConfig } from "./config/types.ts";
import {
  batchText,
  noDiscovery,
  noLimits,
  scrapeConfig,
} from "../../../test/fixtures/sources/scrape.ts";
import { Scraper } from "./scraper.ts";

const ends: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

interface Exporter {
  readonly address: string;
  body: string;
  status: number;
  readonly asked: IncomingMessage[];
  stop(): void;
}

async function exporter(body: string): Promise<Exporter> {
  const server = createServer((request, reply) => {
    made.asked.push(request);
    const gzip = request.headers["accept-encoding"] === "gzip";
    reply
      .writeHead(made.status, {
        "content-type": "text/plain; version=0.0.4",
        ...(gzip ? { "content-encoding": "gzip" } : {}),
      })
      .end(gzip ? gzipSync(made.body) : made.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  ends.push(stop);
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const made: Exporter = { address, body, status: 200, asked: [], stop };
  return made;
}

function scraper(log: Log = silentLog) {
  const written: string[] = [];
  const made = new Scraper({
    write: async (batch) => void written.push(...batchText(batch)),
    log,
    nowMs: Date.now,
    version: "1",
    seed: "",
    env: {},
    random: () => 0,
  });
  ends.unshift(() => made.close());
  return { scraper: made, written };
}

const jobOf = (addresses: readonly string[], given: Partial<ScrapeConfig> = {}): ScrapeConfig =>
  scrapeConfig({
    intervalMs: 100,
    timeoutMs: 100,
    discovery: { ...noDiscovery, static: [{ targets: addresses, labels: [] }] },
    ...given,
  });

const loops = (of: Scraper) => of.pools.flatMap((pool) => [...pool.loops]);
const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 8_000 });
const linesOf = (written: readonly string[], start: string): readonly string[] =>
  written.filter((line) => line.startsWith(start)).map((line) => line.split(" ")[1] ?? "");

test("a target is asked as Prometheus asks, and reported as up with its series", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made, written } = scraper();
  made.apply([jobOf([target.address])]);
  const labels = `{instance="${target.address}",job="job"}`;
  await eventually(() => expect(linesOf(written, `up${labels}`)).toContain("1"));
  expect(linesOf(written, `a${labels}`)[0]).toBe("1");
  expect(linesOf(written, `scrape_samples_scraped${labels}`)[0]).toBe("1");
  expect(linesOf(written, `scrape_samples_post_metric_relabeling${labels}`)[0]).toBe("1");
  expect(linesOf(written, `scrape_series_added${labels}`)[0]).toBe("1");
  expect(linesOf(written, `scrape_timeout_seconds`)).toEqual([]);
  expect(target.asked[0]?.headers).toMatchObject({
    accept: expect.stringMatching(/^application\/openmetrics-text;version=1\.0\.0,/) as string,
    "accept-encoding": "gzip",
    "user-agent": "gpulse/1",
    "x-prometheus-scrape-timeout-seconds": "0.1",
  });
});

test("what is asked for apart is reported too", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made, written } = scraper();
  const limits = { ...noLimits, samples: 7 };
  made.apply([jobOf([target.address], { extraMetrics: true, limits })]);
  await eventually(() => expect(linesOf(written, "scrape_body_size_bytes{")[0]).toBe("4"));
  expect(linesOf(written, "scrape_timeout_seconds{")[0]).toBe("0.1");
  expect(linesOf(written, "scrape_sample_limit{")[0]).toBe("7");
});

test("a target that fails is down, with the reason, and its series end", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made, written } = scraper();
  made.apply([jobOf([target.address])]);
  await eventually(() => expect(linesOf(written, "a{")).toContain("1"));
  target.status = 503;
  await eventually(() => expect(linesOf(written, "a{").at(-1)).toBe("stale"));
  expect(linesOf(written, "up{").at(-1)).toBe("0");
  expect(loops(made)[0]?.target.last).toMatchObject({
    health: "down",
    error: expect.stringMatching(/HTTP status 503/) as string,
  });
  target.status = 200;
  await eventually(() => expect(linesOf(written, "up{").at(-1)).toBe("1"));
});

test("what is left out of every page is reported once, and again when that ends", async () => {
  const target = await exporter("a 1\na 2\n");
  const reported: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: (sentence) => void reported.push(sentence),
    info: (sentence) => void reported.push(sentence),
  };
  const { scraper: made, written } = scraper(log);
  made.apply([jobOf([target.address])]);
  await eventually(() => expect(linesOf(written, "up{").length).toBeGreaterThan(3));
  expect(reported).toEqual(["samples dropped"]);
  target.body = "a 1\n";
  await eventually(() => expect(reported.slice(1)).toEqual(["samples no longer dropped"]));
});

test("a page as large as the limit is refused", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made } = scraper();
  made.apply([jobOf([target.address], { limits: { ...noLimits, bodyBytes: 4 } })]);
  await eventually(() =>
    expect(loops(made)[0]?.target.last.error).toBe("body size limit exceeded"),
  );
});

test("more targets than allowed are all refused, and scraped again when they are fewer", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made } = scraper();
  const limits = { ...noLimits, targets: 1 };
  made.apply([jobOf([target.address, `localhost:${target.address.split(":")[1]}`], { limits })]);
  await eventually(() =>
    expect(loops(made)[0]?.target.last.error).toBe(
      "target_limit exceeded (number of targets: 2, limit: 1)",
    ),
  );
  expect(target.asked).toEqual([]);
  made.apply([jobOf([target.address], { limits })]);
  await eventually(() => expect(loops(made)[0]?.target.last.health).toBe("up"));
});

test("an inactive job has a pool with its reason, and nothing of it is scraped", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made } = scraper();
  const inactive = "password_ref is not supported.";
  made.apply([jobOf([target.address], { inactive }), jobOf([target.address], { jobName: "on" })]);
  await eventually(() => expect(target.asked.length).toBeGreaterThan(1));
  const shown = made.pools.map(({ config, loops: of }) => [config.inactive, [...of].length]);
  expect(shown).toEqual([
    [inactive, 0],
    [undefined, 1],
  ]);
  made.apply([jobOf([target.address])]);
  await eventually(() => expect(loops(made)).toHaveLength(1));
});

test("the same target twice is scraped once", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made } = scraper();
  made.apply([jobOf([target.address, target.address])]);
  expect(loops(made)).toHaveLength(1);
});

test("a new configuration leaves alone what it does not change", async () => {
  const [one, two] = [await exporter("a 1\n"), await exporter("a 2\n")];
  const { scraper: made, written } = scraper();
  made.apply([jobOf([one.address])]);
  await eventually(() => expect(linesOf(written, "a{")).toContain("1"));
  const [before] = loops(made);
  made.apply([jobOf([one.address, two.address], { timeoutMs: 100 })]);
  await eventually(() => expect(linesOf(written, "a{")).toContain("2"));
  expect(loops(made)).toContain(before);
  expect(linesOf(written, "a{")).not.toContain("stale");
});

test("a target that is gone ends after two intervals, with its reports", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made, written } = scraper();
  made.apply([jobOf([target.address])]);
  await eventually(() => expect(linesOf(written, "a{")).toContain("1"));
  made.apply([]);
  await eventually(() => expect(linesOf(written, "a{").at(-1)).toBe("stale"));
  expect(linesOf(written, "up{").at(-1)).toBe("stale");
  expect(linesOf(written, "scrape_series_added{").at(-1)).toBe("stale");
  expect(linesOf(written, "scrape_timeout_seconds{")).toEqual([]);
});

test("a target that is set up again goes on without an end", async () => {
  const target = await exporter("a 1\nb 1\n");
  const { scraper: made, written } = scraper();
  made.apply([jobOf([target.address])]);
  await eventually(() => expect(linesOf(written, "a{")).toContain("1"));
  const [before] = loops(made);
  target.body = "a 1\n";
  made.apply([jobOf([target.address], { honorLabels: true })]);
  expect(loops(made)).not.toContain(before);
  await eventually(() => expect(linesOf(written, "b{").at(-1)).toBe("stale"));
  expect(linesOf(written, "a{")).not.toContain("stale");
  expect(linesOf(written, "up{")).not.toContain("stale");
});

test("closing ends nothing: a hub that restarts goes on", async () => {
  const target = await exporter("a 1\n");
  const { scraper: made, written } = scraper();
  made.apply([jobOf([target.address])]);
  await eventually(() => expect(linesOf(written, "a{")).toContain("1"));
  await made.close();
  const after = written.length;
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(written).toHaveLength(after);
  expect(written.some((line) => line.includes("stale"))).toBe(false);
});
