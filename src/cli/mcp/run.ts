/** Runs `gpulse mcp`: the MCP server on standard input and output, which reads a hub over HTTP. */
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { formatError } from "../../base/error.ts";
import { docPages } from "../../hub/mcp/docs.ts";
import { prompts } from "../../hub/mcp/prompts.ts";
import { createMcpServer, describeTools } from "../../hub/mcp/server.ts";
import type { HubReader } from "../../view/tools/hub-reader.ts";
import { clientAccess, type ClientFlags, defaultHubUrl } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { HubClient } from "../hub-client.ts";

export interface McpFlags extends ClientFlags {
  readonly url?: string;
  readonly json?: boolean;
}

const maxMessageBytes = 1024 * 1024;

export function openHubReader(flags: McpFlags, io: CommandIo): HubReader {
  const url = flags.url ?? defaultHubUrl;
  const client = new HubClient(url, clientAccess(flags, io.env));
  return { url, get: async (route) => client.call("GET", route) };
}

/** Ends when the client closes the pipe, or the process is stopped. */
export async function runMcp(flags: McpFlags, io: CommandIo): Promise<number> {
  const hub = openHubReader(flags, io);
  if (flags.json === true) {
    const listed = {
      tools: describeTools(),
      resources: docPages.map(({ uri, title }) => ({ uri, title })),
      prompts: prompts.map(({ text: _, ...prompt }) => prompt),
    };
    io.stdout.write(`${JSON.stringify(listed, null, 2)}\n`);
    return 0;
  }
  const transport = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: maxMessageBytes,
  });
  const ended = new Promise<void>((resolve) => process.stdin.once("close", () => resolve()));
  const handle = serveStdio(
    () => createMcpServer({ hub, version: io.version, nowMs: () => Date.now() }),
    {
      transport,
      maxSubscriptions: 0,
      onerror: (error) => void io.stderr.write(`gpulse: ${formatError(error)}\n`),
    },
  );
  await Promise.race([ended, io.stopped()]);
  await handle.close();
  return 0;
}
