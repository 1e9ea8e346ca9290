// Parses unit files like systemd, as far as ours need it: sections, repeated keys, environment and the words of ExecStart.

import { readFileSync } from "node:fs";
import path from "node:path";

import { repository } from "../../../engines/program.ts";

export const systemdFolder = path.join(repository, "deploy/systemd");
export const systemUnits = [
  "gpulse-agent.service",
  "gpulse-hub.service",
  "gpulse.service",
] as const;
export const userUnits = ["user/gpulse-agent.service", "user/gpulse.service"] as const;
export const dropIns = ["nvidia.conf", "amd.conf", "intel.conf", "push.conf"] as const;

export type Unit = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export const readUnit = (file: string): Unit =>
  parseUnit(readFileSync(path.join(systemdFolder, file), "utf8"));

/** @throws Error at a line that is not a section, a key, a comment or empty. */
export function parseUnit(text: string): Unit {
  const unit: Record<string, Record<string, string[]>> = {};
  let section: Record<string, string[]> | undefined;
  for (const [at, line] of text.split("\n").entries()) {
    if (line === "" || line.startsWith("#")) continue;
    const [, title, key, value] = /^(?:\[(\w+)\]|([A-Za-z]+)=(.*))$/.exec(line) ?? [];
    if (title !== undefined) section = unit[title] ??= {};
    else if (key !== undefined && section !== undefined)
      (section[key] ??= []).push(value?.trim() ?? "");
    else throw new Error(`line ${at + 1} is neither a section nor a setting: ${line}`);
  }
  return unit;
}

/** `KEY=value` lines of an environment file. */
export function parseEnvironment(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(lines.map(splitOnce));
}

const splitOnce = (line: string): readonly [string, string] => {
  const at = line.indexOf("=");
  if (at < 1) throw new Error(`no KEY=value: ${line}`);
  return [line.slice(0, at), line.slice(at + 1)];
};

/** Only a whole word `$NAME` is split into words; an empty value gives none. */
export function commandOf(unit: Unit, env: Readonly<Record<string, string>>): readonly string[] {
  const line = unit["Service"]?.["ExecStart"]?.at(-1) ?? "";
  return line.split(" ").flatMap((word) => {
    if (!word.startsWith("$")) return [word];
    return (env[word.slice(1)] ?? "").split(" ").filter((one) => one !== "");
  });
}

/** The variables that the unit itself sets, without its environment file. */
export function environmentOf(unit: Unit): Readonly<Record<string, string>> {
  return Object.fromEntries((unit["Service"]?.["Environment"] ?? []).map(splitOnce));
}
