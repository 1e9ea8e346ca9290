// ClickHouse's engine on a free loopback port: chDB from PyPI behind the part of the HTTP interface that a writer uses. The
// server itself is only available as Debian's 18.16, which supports neither DateTime64 nor deduplication tokens.

import { fileURLToPath } from "node:url";

import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";
import { pythonPackages } from "./python.ts";

const SERVER = fileURLToPath(new URL("./clickhouse_server.py", import.meta.url));

export interface RunningClickHouse {
  /** `HOST:PORT`. */
  readonly address: string;
  /** `gpulse` has all permissions, `reader` may only read. */
  readonly passwords: Readonly<Record<"gpulse" | "reader", string>>;
  /** Returns the rows of a query. */
  query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The next `statements` statements fail as if the server had too many parts. */
  failNext(statements: number): Promise<void>;
  /** The next `inserts` inserts are stored, and their response is lost with the connection. */
  loseNext(inserts: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startClickHouse(): Promise<RunningClickHouse> {
  const { python } = await pythonPackages("chdb", ["--no-deps", "chdb-core==26.9.0"]);
  const port = await freePort();
  const server = startProcess(python, [SERVER, String(port)], { name: "clickhouse" });
  try {
    const printed = await server.waitForOutput(/^users (\{.*\})$/m, 60_000);
    const passwords = JSON.parse(printed[1] ?? "") as RunningClickHouse["passwords"];
    const address = `127.0.0.1:${port}`;
    const login = Buffer.from(`gpulse:${passwords.gpulse}`).toString("base64");
    const post = async (path: string, body: string): Promise<string> => {
      const headers = { authorization: `Basic ${login}` };
      const response = await fetch(`http://${address}${path}`, { method: "POST", headers, body });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return text;
    };
    const control = async (state: Readonly<Record<string, number>>): Promise<void> =>
      void (await post("/control", JSON.stringify(state)));
    return {
      address,
      passwords,
      query: async (statement) =>
        (await post("/", statement))
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as Record<string, unknown>),
      failNext: (statements) => control({ fail: statements }),
      loseNext: (inserts) => control({ lose: inserts }),
      stop: async () => void (await server.stop()),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
