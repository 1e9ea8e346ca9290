/** `gpulse mcp`: a hub's tools for an AI agent, over standard input and output. */
import type { Command } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { McpFlags } from "./run.ts";

export function declareMcp(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("mcp")
    .summary("serve a hub's tools to an AI agent over MCP")
    .description(
      "Speaks the Model Context Protocol on standard input and output: an MCP client such as an editor or a chat application starts it. All tools only read. A hub also serves them itself, at POST /mcp.",
    )
    .option(...hubUrlOption)
    .option("--json", "list the tools, resources and prompts as JSON, and end")
    .addHelpText(
      "after",
      `
Examples:
  gpulse mcp --url https://hub.example.com --token file:/etc/gpulse/token
  gpulse mcp --json
  claude mcp add gpulse -- gpulse mcp`,
    )
    .action((flags: McpFlags) => finish(async () => (await import("./run.ts")).runMcp(flags, io)));
  addClientFlags(command);
}
