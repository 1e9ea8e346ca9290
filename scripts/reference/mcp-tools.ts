/** docs/reference/mcp-tools.md, from the table of tools. */
import { docPages } from "../../src/hub/mcp/docs.ts";
import { prompts } from "../../src/hub/mcp/prompts.ts";
import { inputSchemaOf } from "../../src/hub/mcp/server.ts";
import { tools } from "../../src/view/tools/list.ts";
import { generatedNote, table } from "./markdown.ts";

export function mcpToolsPage(): string {
  return [
    "# MCP tools",
    "",
    generatedNote,
    "",
    "What [`gpulse mcp` and `POST /mcp`](../guides/mcp.md) serve to an AI agent. All tools only read.",
    "",
    ...tools.flatMap(({ name, description, input, example }) => [
      `## ${name}`,
      "",
      description,
      "",
      table(["argument", "takes", "default", ""], argumentRows(inputSchemaOf(input))),
      "",
      "```json",
      JSON.stringify(example),
      "```",
      "",
    ]),
    "## Resources",
    "",
    table(
      ["address", "page"],
      docPages.map(({ uri, title, file }) => [`\`${uri}\``, `[${title}](../${file})`]),
    ),
    "",
    "## Prompts",
    "",
    table(
      ["name", "", "arguments"],
      prompts.map(({ name, description, arguments: given }) => [
        `\`${name}\``,
        description,
        given
          .map((one) => `\`${one.name}\`${one.required ? "" : " (optional)"}: ${one.description}`)
          .join(" "),
      ]),
    ),
    "",
  ].join("\n");
}

interface Property {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
}

function argumentRows(schema: object): string[][] {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, Property>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => [
    `\`${name}\``,
    takes(property),
    required.includes(name)
      ? "required"
      : property.default === undefined
        ? ""
        : `\`${JSON.stringify(property.default)}\``,
    property.description ?? "",
  ]);
}

function takes({ type, enum: words, minimum, maximum }: Property): string {
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(", ");
  if (type === "integer" || type === "number") return `${minimum ?? ""} to ${maximum ?? ""}`;
  return type === "array" ? "list of text" : "text";
}
