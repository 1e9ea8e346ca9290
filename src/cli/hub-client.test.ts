import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { errorCodes } from "../base/codes.ts";
import { GpulseError } from "../base/error.ts";
import { HubClient } from "./hub-client.ts";

const ends: (() => void)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

test.for([
  [400, "bad_data", 2],
  [422, "execution", 1],
  [503, "timeout", 1],
  [500, "internal", 1],
] as const)(
  "a query answered %i %s ends the command with %i",
  async ([status, errorType, exit]) => {
    const server = createServer((_request, response) =>
      response.writeHead(status).end(JSON.stringify({ status: "error", errorType, error: "why" })),
    );
    ends.push(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const thrown: unknown = await new HubClient(`http://127.0.0.1:${port}`)
      .ask("/api/v1/query", { query: "sum(" })
      .catch((error: unknown) => error);
    if (!(thrown instanceof GpulseError)) throw thrown;
    expect([thrown.message, errorCodes[thrown.code].exit]).toEqual(["why", exit]);
  },
);
