// Runs terraform without network access: it formats, validates variables and evaluates expressions that need no provider.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { spawnSync } from "node:child_process";

import { type FinishedProcess, runProcess } from "../../../engines/process.ts";
import { moduleText, terraformFolder } from "./module.ts";

const OFFLINE = { TF_CLI_CONFIG_FILE: "/dev/null", CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1" };

/** Skips the test if the program is not installed: no package system here provides it. */
export function needsTerraform(context: { skip(note: string): never }): void {
  if (spawnSync("terraform", ["version"], { env: { ...process.env, ...OFFLINE } }).status !== 0)
    context.skip("needs terraform: install it from HashiCorp");
}

export async function terraform(
  args: readonly string[],
  options: { readonly cwd: string; readonly input?: string },
): Promise<FinishedProcess> {
  return runProcess("terraform", args, { ...options, env: OFFLINE, timeoutMs: 60_000 });
}

/** A module's variables and the locals that refer to no resource: they need no provider. */
export function withoutProviders(name: string, replace: Readonly<Record<string, string>>): Scratch {
  const top = mkdtempSync(path.join(tmpdir(), "gpulse-terraform-"));
  const folder = path.join(top, name);
  mkdirSync(path.join(folder, "tests"), { recursive: true });
  cpSync(path.join(terraformFolder, "start-up"), path.join(top, "start-up"), { recursive: true });
  const blocks = moduleText(name).match(/^(?:variable "\w+"|locals) \{\n[\s\S]*?^\}$/gm) ?? [];
  let text = blocks.join("\n\n");
  for (const [from, to] of Object.entries(replace)) text = text.replaceAll(from, to);
  writeFileSync(path.join(folder, "main.tf"), text);
  return { folder, remove: () => rmSync(top, { recursive: true, force: true }) };
}

export interface Scratch {
  readonly folder: string;
  remove(): void;
}

/** The value of an expression from `terraform console`. */
export async function evaluate(
  folder: string,
  expression: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  writeFileSync(path.join(folder, "given.auto.tfvars.json"), JSON.stringify(variables));
  const input = `jsonencode(${expression})\n`;
  const done = await terraform(["console"], { cwd: folder, input });
  if (done.code !== 0) throw new Error(`terraform console failed: ${done.stderr}`);
  return JSON.parse(JSON.parse(done.stdout) as string);
}
