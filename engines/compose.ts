// Loads Compose files like docker compose, without a container engine: the loader is its own Go module.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { goBuilt } from "./go.ts";
import { runProcess } from "./process.ts";

export const composeFolder = fileURLToPath(new URL("../deploy/compose", import.meta.url));

export interface ComposeService {
  readonly image?: string;
  readonly profiles?: readonly string[];
  readonly build?: { readonly context: string; readonly target?: string };
  readonly command?: readonly string[] | null;
  readonly entrypoint?: readonly string[] | null;
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly user?: string;
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly privileged?: boolean;
  readonly pid?: string;
  readonly ipc?: string;
  readonly network_mode?: string;
  readonly networks?: Readonly<Record<string, unknown>>;
  readonly cap_add?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly devices?: readonly unknown[];
  readonly mem_limit?: string;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly ports?: readonly {
    readonly host_ip?: string;
    readonly published?: string;
    readonly target: number;
  }[];
  readonly volumes?: readonly {
    readonly type: string;
    readonly source: string;
    readonly target: string;
    readonly read_only?: boolean;
  }[];
  readonly secrets?: readonly { readonly source: string }[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly deploy?: { readonly resources?: unknown };
}

export interface ComposeProject {
  readonly name: string;
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly secrets?: Readonly<
    Record<string, { readonly environment?: string; readonly file?: string }>
  >;
  readonly networks?: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
}

export interface ComposeOptions {
  /** The content of the .env file. */
  readonly env: string;
  /** All profiles if absent. */
  readonly profiles?: readonly string[];
  /** Files beside compose.yaml, such as compose.nvidia.yaml. */
  readonly overrides?: readonly string[];
}

/** Returns the loader, built on first use; throws EngineMissingError without a suitable Go. */
export async function composeCheck(): Promise<string> {
  return path.join(await goBuilt("compose-check"), "compose-check");
}

/** The resolved project as text; rejects with compose's own error message. */
export async function resolveComposeText(options: ComposeOptions): Promise<string> {
  const { env, profiles = ["*"], overrides = [] } = options;
  const program = await composeCheck();
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-compose-"));
  try {
    const envFile = path.join(folder, ".env");
    await writeFile(envFile, env);
    const files = ["compose.yaml", ...overrides].map((name) => path.join(composeFolder, name));
    const flags = profiles.map((name) => `--profile=${name}`);
    const done = await runProcess(program, [`--env-file=${envFile}`, ...flags, ...files]);
    if (done.code === 0) return done.stdout;
    throw new Error(done.stderr.trim());
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function resolveCompose(options: ComposeOptions): Promise<ComposeProject> {
  return JSON.parse(await resolveComposeText(options)) as ComposeProject;
}
