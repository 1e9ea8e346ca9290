/** For the tests of nvidia-smi's parsers: where captures are, and readings as one can write them down. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gpu } from "../../../model/catalogue/index.ts";
import type { SmiGpu, SmiProcess } from "./gpu.ts";

/** Our own capture, of a real H200; identifiers replaced. */
export function ownCapture(name: string): string {
  return readFileSync(new URL(`./captures/${name}`, import.meta.url), "utf8");
}

/** Others' captures lie beside the checkout where they are there at all; they are read and never committed. */
export const publicFolder = fileURLToPath(
  new URL("../../../../../shared/captures/public", import.meta.url),
);

export function publicCapture(name: string): string | undefined {
  const file = `${publicFolder}/${name}`;
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** One command's output from a file that holds many: from its title to the next ruler. */
export function publicSection(name: string, title: string): string | undefined {
  const text = publicCapture(`nvidia-smi-captures/${name}`);
  if (text === undefined) return undefined;
  const at = text.indexOf(`\n# ${title}`);
  if (at === -1) throw new Error(`${name} has no section "${title}"`);
  const start = text.indexOf("\n####", at) + 1;
  const end = text.indexOf("\n####", start);
  const body = text.slice(text.indexOf("\n", start) + 1, end === -1 ? undefined : end);
  return body.trimEnd();
}

/** The processes, where they are known. */
export function processesOf(one: SmiGpu | undefined): readonly SmiProcess[] {
  return one === undefined || typeof one.processes === "string" ? [] : one.processes;
}

/** `gpu_temperature_celsius{sensor=edge}` to its value, or to the reason why there is none. */
export function readingsOf(one: SmiGpu | undefined): Record<string, number | string> {
  return Object.fromEntries(
    (one?.readings ?? []).map(({ metric, labels, cell }) => {
      const own = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`);
      const name = gpu[metric].name;
      return [own.length === 0 ? name : `${name}{${own.join(",")}}`, cell];
    }),
  );
}
