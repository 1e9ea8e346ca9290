// Programs that are built from the Go modules under engines/go, kept in the user's cache. A missing or too old Go is a
// reason to skip: no package of a Debian release is new enough.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { EngineMissingError, installWith, installOnce } from "./cache.ts";
import { runProcess } from "./process.ts";

/** What the go.mod files of Kubernetes and Helm ask for. */
const OLDEST_GO = [1, 26] as const;
const PLACES = ["go", "/usr/local/go/bin/go", "/usr/lib/go/bin/go"];
const FLAGS = ["-buildvcs=false", "-ldflags=-s -w"];

/** The `go` program of this machine. */
export async function findGo(): Promise<string> {
  const old: string[] = [];
  for (const place of PLACES) {
    const asked = await runProcess(place, ["env", "GOVERSION"]).catch(() => undefined);
    const version = /^go(\d+)\.(\d+)/.exec(asked?.stdout ?? "");
    if (version === null) continue;
    const [major, minor] = [Number(version[1]), Number(version[2])];
    if (major > OLDEST_GO[0] || (major === OLDEST_GO[0] && minor >= OLDEST_GO[1])) return place;
    old.push(version[0]);
  }
  const found = old.length === 0 ? "there is none" : `this is ${old.join(", ")}`;
  throw new EngineMissingError(
    `needs Go ${OLDEST_GO.join(".")} or newer, and ${found}: see go.dev/dl`,
  );
}

export interface GoBuildOptions {
  /** Programs of modules that it needs anyway, built beside it: they share what takes longest to compile. */
  readonly beside?: readonly string[];
  /** Build tags. */
  readonly tags?: readonly string[];
}

/** The folder with the programs of engines/go/NAME (its own, if it has one), in the versions that its go.sum holds. */
export async function goBuilt(name: string, options: GoBuildOptions = {}): Promise<string> {
  const { beside = [], tags = [] } = options;
  const source = fileURLToPath(new URL(`./go/${name}`, import.meta.url));
  const files = readdirSync(source).sort();
  const recipe = files
    .map((file) => `${file}\n${readFileSync(path.join(source, file), "utf8")}`)
    .join("\n");
  const own = files.some((file) => file.endsWith(".go")) ? ["."] : [];
  return installOnce(name, [recipe, ...beside, ...tags].join("\n"), async (aside) => {
    const flags = tags.length === 0 ? FLAGS : [...FLAGS, `-tags=${tags.join(",")}`];
    const args = ["build", "-C", source, ...flags, "-o", `${aside}/`, ...own, ...beside];
    await installWith(await findGo(), args);
  });
}
