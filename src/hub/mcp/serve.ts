/** Handles one MCP request over HTTP with the SDK. Loaded at the first request: the SDK is 0.6 MB. */
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { FastifyRequest } from "fastify";
import { createMcpServer, type McpOptions } from "./server.ts";

export interface McpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The headers that the protocol uses. */
const read = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"];

export async function serveMcp(
  { headers, body }: Pick<FastifyRequest, "headers" | "body">,
  options: McpOptions,
): Promise<McpReply> {
  const handler = createMcpHandler(() => createMcpServer(options), {
    // The tool list never changes, so there is nothing to subscribe to.
    maxSubscriptions: 0,
    keepAliveMs: 0,
  });
  const given = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" && (read.includes(name) || name.startsWith("mcp-param-"))
      ? [[name, value] as [string, string]]
      : [],
  );
  const response = await handler.fetch(
    new Request("http://hub/mcp", {
      method: "POST",
      headers: given,
      body: typeof body === "string" ? body : "",
    }),
  );
  const type = response.headers.get("content-type");
  const allow = response.headers.get("allow");
  return {
    status: response.status,
    headers: { ...(type !== null && { "content-type": type }), ...(allow !== null && { allow }) },
    body: await response.text(),
  };
}
