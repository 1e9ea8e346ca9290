import { expect, test } from "vitest";
import { loadClient } from "./client.ts";

test("a broker that the cluster does not list any more is an error to the caller, not the end of the process", async () => {
  const { ConnectionPool, NetworkError } = await loadClient();
  const pool = new ConnectionPool("test");
  const reported = await new Promise((resolve) => {
    // The client's own call when its metadata lacks a broker.
    const listed = new Map<number, { host: string; port: number }>();
    pool.get(listed.get(7) as never, (error) => resolve(error));
  });
  expect(reported).toBeInstanceOf(NetworkError);
  await pool.close();
});
