import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import {
  blocksIn,
  brokenReferences,
  declaredBlocks,
  moduleNames,
  moduleText,
  parseModule,
  provided,
  terraformFolder,
  wrongArguments,
} from "./terraform/module.ts";
import { needsTerraform, terraform } from "./terraform/program.ts";

test("every file is formatted as terraform fmt does", async (context) => {
  needsTerraform(context);
  const args = ["fmt", "-check", "-recursive", "-diff"];
  const { code, stdout } = await terraform(args, { cwd: terraformFolder });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
});

test.for(moduleNames)("%s pins Terraform and every provider it uses", async (name) => {
  const module = await parseModule(moduleText(name));
  const [terraformBlock = {}] = module.terraform ?? [];
  expect(terraformBlock["required_version"]).toMatch(/^>= 1\.\d+\.\d+, < 2\.0\.0$/);
  const [required = {}] = blocksIn(terraformBlock["required_providers"]);
  const used = new Set(declaredBlocks(module).map(({ type }) => type.split("_")[0]));
  expect(new Set(Object.keys(required))).toEqual(used);
  for (const [provider, { version, source } = {}] of Object.entries(
    required as Record<string, { version?: string; source?: string }>,
  )) {
    const [major, minor] = (provided.providers[provider] ?? "").split(".");
    expect({ version, source }).toEqual({
      version: `~> ${major}.${minor}`,
      source: `hashicorp/${provider}`,
    });
  }
});

test.for(moduleNames)("%s gives each resource the arguments its type takes", async (name) => {
  const module = await parseModule(moduleText(name));
  expect(declaredBlocks(module).length).toBeGreaterThan(10);
  expect(declaredBlocks(module).flatMap(wrongArguments)).toEqual([]);
});

test.for(moduleNames)("%s refers only to what is declared", async (name) => {
  expect(await brokenReferences(await parseModule(moduleText(name)))).toEqual([]);
});

test("arguments and references that are wrong are found", async () => {
  const module = await parseModule(`
    variable "here" {}
    locals { some = [for one in var.here : one.name] }
    resource "aws_sqs_queue" "a" {
      count = 2
      name = var.gone
      nmae = local.gone
      policy = data.aws_partition.gone.partition
    }
    resource "aws_lambda_function_event_invoke_config" "b" {
      qualifier = aws_sqs_queue.a.url
      destination_config {
        on_failure { place = aws_sqs_queue.a[0].colour }
      }
    }
  `);
  expect(declaredBlocks(module).flatMap(wrongArguments).toSorted()).toEqual([
    "aws_lambda_function_event_invoke_config.b needs function_name",
    "aws_lambda_function_event_invoke_config.b.destination_config.on_failure needs destination",
    "aws_lambda_function_event_invoke_config.b.destination_config.on_failure takes no place",
    "aws_sqs_queue.a takes no nmae",
  ]);
  expect([...(await brokenReferences(module))].toSorted()).toEqual([
    "aws_sqs_queue.a.0.colour: aws_sqs_queue has no colour",
    "aws_sqs_queue.a.url: is one of several: it needs an index",
    "data.aws_partition.gone.partition: is not declared",
    "local.gone: is not declared",
    "var.gone: is not declared",
  ]);
});

test.for(moduleNames)(
  "each variable of %s has a type, a description and a check, and is used",
  async (name) => {
    const text = moduleText(name);
    const { variable = {} } = await parseModule(text);
    expect(Object.keys(variable).length).toBeGreaterThan(10);
    const wanting = Object.entries(variable).flatMap(([key, [block = {}]]) => {
      // Terraform itself rejects anything but true or false.
      const checked = block["type"] === "${bool}" || blocksIn(block["validation"]).length > 0;
      const rest = text.replace(new RegExp(`^variable "${key}" \\{[\\s\\S]*?^\\}`, "m"), "");
      const used = new RegExp(`\\bvar\\.${key}\\b`).test(rest);
      return "type" in block && "description" in block && checked && used ? [] : [key];
    });
    expect(wanting).toEqual([]);
  },
);

test.for(moduleNames)("the page of %s names its variables and outputs", async (name) => {
  const module = await parseModule(moduleText(name));
  const page = readFileSync(path.join(terraformFolder, name, "README.md"), "utf8");
  const names = [...Object.keys(module.variable ?? {}), ...Object.keys(module.output ?? {})];
  expect(names.filter((one) => !page.includes(`\`${one}\``))).toEqual([]);
});
