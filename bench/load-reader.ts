/**
 * A process that simulates many users: dashboards that refresh, and live pages. Their numbers arrive over its channel; started by
 * load-readers.ts.
 */
import { Agent, type ClientRequest, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { boardQueries, type BoardQuery, queryPath } from "./load-boards.ts";
import type { ReaderReport, ReaderSpec } from "./load-readers.ts";

/** The number of connections that a browser opens to one origin. */
const connectionsPerPerson = 6;
/** Grafana's own timeout. */
const timeoutMs = 60_000;

const { hubUrl, hosts, prefix } = JSON.parse(process.argv[2] ?? "") as ReaderSpec;
const agents = new Map<number, Agent>();
const pages = new Map<number, ClientRequest>();
const report: ReaderReport = emptyReport();
let wanted = { dashboards: 0, refreshMs: 0, pages: 0 };
let turn = 0;

// Must not outlive its parent.
process.on("disconnect", () => process.exit(0));
process.on("message", (message: Partial<typeof wanted> & { stop?: boolean; forget?: boolean }) => {
  if (message.stop === true) process.exit(0);
  if (message.forget === true)
    Object.assign(report, emptyReport(), { pagesOpen: report.pagesOpen });
  wanted = { ...wanted, ...message };
  turn++;
  for (let person = 0; person < wanted.dashboards; person++) void watchBoard(person, turn);
  for (let page = 0; page < wanted.pages; page++) if (!pages.has(page)) openPage(page);
  for (const [page, stream] of pages) if (page >= wanted.pages) stream.destroy();
});
setInterval(() => process.send?.(report), 500);
process.send?.(report);

/** Every tenth shows the whole fleet, the others one host each. */
async function watchBoard(person: number, own: number): Promise<void> {
  const queries =
    person % 10 === 0
      ? boardQueries("fleet", ".*")
      : boardQueries("gpu", `${prefix}-${(person * 37) % hosts}`);
  await sleep(Math.random() * wanted.refreshMs);
  const current = (): boolean => own === turn;
  while (current()) {
    const beganMs = performance.now();
    const left = [...queries];
    await Promise.all(
      Array.from({ length: connectionsPerPerson }, async () => {
        for (let query = left.pop(); query !== undefined; query = left.pop())
          await ask(person, query);
      }),
    );
    report.refreshes++;
    await sleep(Math.max(10, wanted.refreshMs - (performance.now() - beganMs)));
  }
}

function ask(person: number, query: BoardQuery): Promise<void> {
  const agent =
    agents.get(person) ?? new Agent({ keepAlive: true, maxSockets: connectionsPerPerson });
  agents.set(person, agent);
  const beganMs = performance.now();
  report.asked++;
  return new Promise((resolve) => {
    const fail = (): void => {
      report.failed++;
      resolve();
    };
    const asking = get(
      `${hubUrl}${queryPath(query, Date.now())}`,
      { agent, timeout: timeoutMs },
      (answer) => {
        answer.resume();
        answer.on("error", fail);
        answer.on("end", () => {
          if (answer.statusCode === 200) {
            report.answered++;
            report.latenciesMs.push(performance.now() - beganMs);
            if (report.latenciesMs.length > 5_000) report.latenciesMs.splice(0, 2_500);
          } else if (answer.statusCode === 503 || answer.statusCode === 429) {
            report.shed++;
            if (answer.headers["retry-after"] === undefined) report.withoutRetryAfter++;
          } else report.failed++;
          resolve();
        });
      },
    );
    asking.on("timeout", () => asking.destroy());
    asking.on("error", fail);
  });
}

/** Reconnects like the web app: after Retry-After, or a second. */
function openPage(page: number): void {
  const again = (afterMs: number): void => {
    pages.delete(page);
    setTimeout(() => {
      if (page < wanted.pages && !pages.has(page)) openPage(page);
    }, afterMs);
  };
  const asking = get(`${hubUrl}/api/live`, { agent: false }, (answer) => {
    if (answer.statusCode !== 200) {
      report.pagesRefused++;
      if (answer.headers["retry-after"] === undefined) report.withoutRetryAfter++;
      answer.resume();
      return again(Number(answer.headers["retry-after"] ?? 1) * 1_000);
    }
    report.pagesOpen++;
    answer.on("data", (chunk: Buffer) => {
      report.pageBytes += chunk.length;
      for (let at = chunk.indexOf("event: f"); at !== -1; at = chunk.indexOf("event: f", at + 8))
        report.pageEvents++;
    });
    answer.on("close", () => {
      report.pagesOpen--;
      again(1_000);
    });
  });
  asking.on("error", () => again(1_000));
  pages.set(page, asking);
}

function emptyReport(): ReaderReport {
  return {
    refreshes: 0,
    asked: 0,
    answered: 0,
    shed: 0,
    failed: 0,
    withoutRetryAfter: 0,
    latenciesMs: [],
    pagesOpen: 0,
    pagesRefused: 0,
    pageEvents: 0,
    pageBytes: 0,
  };
}
