/** The floods of the overload benchmark: each runs until it is stopped, and counts the response statuses. */
import { HubClient, type Sending } from "./client.ts";
import { alertFlood, ghostAgent, longRangeQuery, pushBombs, slowQuery } from "./floods.ts";

export interface FloodTarget {
  readonly port: number;
  readonly tokens: Readonly<Record<"push" | "read", string>>;
  readonly isOver: () => boolean;
  readonly answered: (status: number) => void;
}

interface Scenario {
  readonly summary: string;
  readonly run: (target: FloodTarget) => Promise<unknown>;
}

/** Keeps `atOnce` sequential request loops running from each address. */
async function repeat(
  { port, isOver, answered }: FloodTarget,
  token: string,
  atOnce: number,
  addresses: readonly string[],
  next: (count: number) => Sending,
): Promise<void> {
  let count = 0;
  const clients = addresses.map((address) => new HubClient(port, token, address, atOnce));
  await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: atOnce }, async () => {
        while (!isOver()) answered((await client.send(next(count++))).status);
      }),
    ),
  );
  for (const client of clients) client.close();
}

const one = ["127.0.0.1"];
const json = { "content-type": "application/json" };

/** New series with every request. */
const newSeries = (request: number): Sending => ({
  path: "/push",
  headers: json,
  body: JSON.stringify({
    metrics: Array.from({ length: 2_000 }, (_, at) => ({
      name: "cardinality",
      value: at,
      labels: { request: String(request), at: String(at) },
    })),
  }),
});

const sameSeries = (request: number): Sending => ({
  path: "/push",
  headers: json,
  body: JSON.stringify({
    metrics: Array.from({ length: 1_000 }, (_, at) => ({
      name: "ingest_flood",
      value: request,
      labels: { at: String(at) },
    })),
  }),
});

const wideQuery = (): Sending => longRangeQuery("rate(seeded[1h])", Date.now());

const bomb = (count: number): Sending =>
  pushBombs[count % pushBombs.length] ?? { path: "/push", body: "" };

export const scenarios: Readonly<Record<string, Scenario>> = {
  "range queries": {
    summary: "two range queries of 10,000 steps over every series, again and again",
    run: (target) => repeat(target, target.tokens.read, 2, one, wideQuery),
  },
  cardinality: {
    summary: "2,000 new series with each request of one push token",
    run: (target) => repeat(target, target.tokens.push, 4, one, newSeries),
  },
  alerts: {
    summary: "requests of 1,000 new alerts with one push token",
    run: (target) =>
      repeat(target, target.tokens.push, 5, one, (count) => alertFlood(count, 1_000)),
  },
  "push bodies": {
    summary: "forty JSON bodies of 14.6 KB at once that unpack to 15 MB",
    run: (target) => repeat(target, target.tokens.push, 40, one, bomb),
  },
  "ghost agents": {
    summary: "agents under a new name with each request",
    run: (target) =>
      repeat(target, target.tokens.push, 50, one, (count) =>
        ghostAgent(`ghost-${count}`, Date.now()),
      ),
  },
  "live pages": {
    summary: "one reader opens a live page again and again until it has 600",
    run: async ({ port, tokens, isOver, answered }) => {
      const client = new HubClient(port, tokens.read);
      const pages: { close(): void }[] = [];
      while (!isOver()) {
        if (pages.length >= 600) await new Promise((resolve) => setTimeout(resolve, 100));
        else {
          const page = await client.live();
          answered(page.status);
          pages.push(page);
        }
      }
      for (const page of pages) page.close();
    },
  },
  "query slots": {
    summary: "forty queries at once that take seconds of processor time each",
    run: (target) => repeat(target, target.tokens.read, 40, one, () => slowQuery(Date.now())),
  },
  ingest: {
    summary: "two addresses with 64 requests of 1,000 samples each at once",
    run: (target) => repeat(target, target.tokens.push, 64, ["127.0.0.1", "127.0.0.2"], sameSeries),
  },
};
