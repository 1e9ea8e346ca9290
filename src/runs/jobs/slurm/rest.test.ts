import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { parseSlurmAccounting } from "../../../formats/slurm/accounting.ts";
import { parseSlurmQueue } from "../../../formats/slurm/queue.ts";
import { SlurmUnavailableError } from "./commands.ts";
import { SlurmRest } from "./rest.ts";

const capture = (name: string): string =>
  readFileSync(new URL(`../../../formats/slurm/captures/${name}`, import.meta.url), "utf8");

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

type Answer = readonly [status: number, body: string] | undefined;

/** Serves what slurmrestd of 22.05 serves: v0.0.38, and 404 for every other version. */
async function serve(answer: (url: string, request: IncomingMessage) => Answer): Promise<string> {
  const server = createServer((request, response) => {
    const [status, body] = answer(request.url ?? "", request) ?? [404, "{}"];
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const daemon = (url: string): Answer => {
  if (url === "/slurm/v0.0.38/ping") return [200, '{"meta":{"Slurm":{"release":"22.05.8"}}}'];
  if (url === "/slurm/v0.0.38/jobs") return [200, capture("squeue-22.05.json")];
  if (url === "/slurmdb/v0.0.38/clusters") return [200, '{"clusters":[{"name":"lab"}]}'];
  if (url.startsWith("/slurmdb/v0.0.38/job/")) return [200, capture("sacct-22.05-requeued.json")];
  if (url.startsWith("/slurmdb/v0.0.38/jobs?start_time=uts1700000000"))
    return [200, capture("sacct-22.05.json")];
  return undefined;
};

test("slurmrestd answers as the commands do, in the newest version that both know", async () => {
  const client = new SlurmRest({ url: await serve(daemon) });
  expect(await client.cluster()).toBe("lab");
  expect(parseSlurmQueue(await client.queue())).toEqual(
    parseSlurmQueue(capture("squeue-22.05.json")),
  );
  expect(parseSlurmAccounting(await client.endedSince(1_700_000_000_000)).jobs).toEqual(
    parseSlurmAccounting(capture("sacct-22.05.json")).jobs,
  );
  const { jobs } = parseSlurmAccounting(await client.recordsOf(["19"]));
  expect(jobs).toEqual(parseSlurmAccounting(capture("sacct-22.05-requeued.json")).jobs);
});

test("newer releases name the cluster in every answer", async () => {
  const url = await serve((asked) =>
    asked === "/slurm/v0.0.42/ping" ? [200, '{"meta":{"slurm":{"cluster":"west"}}}'] : undefined,
  );
  expect(await new SlurmRest({ url }).cluster()).toBe("west");
});

test("the token is read at every question and sent with the user's name", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-slurm-token-"));
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  const tokenFile = path.join(dir, "token");
  const sent = new Set<string>();
  const url = await serve((asked, { headers }) => {
    sent.add(`${String(headers["x-slurm-user-name"])} ${String(headers["x-slurm-user-token"])}`);
    return daemon(asked);
  });
  writeFileSync(tokenFile, "SLURM_JWT=first\n");
  const client = new SlurmRest({ url, user: "gpulse", tokenFile });
  await client.queue();
  writeFileSync(tokenFile, "second\n");
  await client.queue();
  expect([...sent]).toEqual(["gpulse first", "gpulse second"]);
  rmSync(tokenFile);
  await expect(client.queue()).rejects.toThrow(/has no token/);
});

test("accounting without a match is empty, and a refusal in its answer is a problem", async () => {
  // As slurmrestd 22.05 answers, with status 200.
  const found = (error: object): string => JSON.stringify({ errors: [error], jobs: [] });
  const nothing = {
    description: "Nothing found",
    error_number: 9003,
    error: "Nothing found with query",
    source: "slurmdb_jobs_get",
  };
  const refused = { error_number: 1007, error: "Protocol authentication error" };
  let said = found(nothing);
  const url = await serve((asked) =>
    /^\/slurmdb\/v0\.0\.38\/jobs?\b/.test(asked) ? [200, said] : daemon(asked),
  );
  const client = new SlurmRest({ url });
  expect(parseSlurmAccounting(await client.endedSince(0)).jobs).toEqual([]);
  expect(parseSlurmAccounting(await client.recordsOf(["7"])).jobs).toEqual([]);
  said = found(refused);
  await expect(client.endedSince(0)).rejects.toThrow(/Protocol authentication error/);
  await expect(client.recordsOf(["7"])).rejects.toThrow(SlurmUnavailableError);
});

test("a token that the controller refuses is not taken for an unknown version", async () => {
  // slurmrestd 22.05 accepts any token itself; slurmctld's refusal of an expired one comes back like this.
  const error = {
    description: "slurmctld config is unable to load",
    error_number: -1,
    error: "Unspecified error",
    source: "slurm_load_ctl_conf",
  };
  const url = await serve((asked) =>
    asked === "/slurm/v0.0.38/ping" ? [500, JSON.stringify({ errors: [error] })] : undefined,
  );
  await expect(new SlurmRest({ url }).queue()).rejects.toThrow(
    /ping with HTTP 500 \(slurmctld config is unable to load: Unspecified error\); if slurmctld runs, the token has expired/,
  );
});

test.each([
  ["a refused token", () => [401, "{}"] as const, /refused the token/],
  ["no version that we know", () => undefined, /serves none of v0\.0\.43/],
  [
    "an answer without end",
    (url: string) => (url.endsWith("/jobs") ? ([200, "x".repeat(2_000)] as const) : daemon(url)),
    /more than/,
  ],
  [
    "a failure",
    (url: string) => (url.endsWith("/jobs") ? ([500, "{}"] as const) : daemon(url)),
    /answered \/slurm\/v0\.0\.38\/jobs with HTTP 500/,
  ],
])("%s is a problem with a reason, not an empty list", async (_, answer, reason) => {
  const client = new SlurmRest({ url: await serve(answer), maxBytes: 1_000 });
  const asked = client.queue();
  await expect(asked).rejects.toThrow(SlurmUnavailableError);
  await expect(asked).rejects.toThrow(reason);
});
