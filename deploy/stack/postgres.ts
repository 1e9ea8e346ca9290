// PostgreSQL for the stack: its programs, its initial database, and the user it runs as, since it refuses to run as root.

import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdir, rm } from "node:fs/promises";
import path from "node:path";

import { runProcess } from "../../engines/process.ts";

const ROOT = "/usr/lib/postgresql";

/** Debian keeps the server's programs out of PATH, in a folder per version. */
function programFolder(): string {
  const versions = existsSync(ROOT)
    ? readdirSync(ROOT)
        .map(Number)
        .sort((a, b) => b - a)
    : [];
  return versions[0] === undefined ? "" : path.join(ROOT, String(versions[0]), "bin");
}

function under(): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const who = ["--reuid=postgres", "--regid=postgres", "--init-groups"];
  // Like the other services, it stops at once and cleans up when the supervisor exits.
  return ["/usr/bin/setpriv", ...who, "--pdeathsig", "SIGQUIT", "--"];
}

export function postgresCommand(folder: string, port: number): readonly [string, ...string[]] {
  const server = path.join(programFolder(), "postgres");
  const where = ["-D", path.join(folder, "data"), "-p", String(port), "-h", "127.0.0.1"];
  // No socket: nothing uses it, and its path may be too long for the kernel. The stack does not demonstrate durability.
  const how = ["-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=32MB"];
  const [program = server, ...args] = [...under(), server, ...where, ...how];
  return [program, ...args];
}

/** Creates the initial database if there is none, and removes the files left by a killed server. */
export async function preparePostgres(folder: string): Promise<void> {
  const data = path.join(folder, "data");
  await mkdir(folder, { recursive: true });
  if (under().length > 0) await giveToPostgres(folder);
  await rm(path.join(data, "postmaster.pid"), { force: true });
  if (existsSync(path.join(data, "PG_VERSION"))) return;
  await rm(data, { recursive: true, force: true });
  const how = ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"];
  const [program, ...args] = [...under(), path.join(programFolder(), "initdb"), ...how];
  const made = await runProcess(program ?? "", args, { cwd: folder });
  if (made.code !== 0) throw new Error(`initdb failed: ${made.stderr.trim()}`);
}

async function giveToPostgres(folder: string): Promise<void> {
  const { stdout } = await runProcess("id", ["-u", "postgres"]);
  await chown(folder, Number(stdout), -1);
  // The data folder above may be private; the permission to traverse it is sufficient.
  await chmod(path.dirname(folder), 0o711);
  const [program, ...args] = [...under(), "test", "-w", folder] as const;
  if ((await runProcess(program ?? "test", args)).code !== 0)
    throw new Error(
      `the user postgres cannot access ${folder}: choose another folder with --data, outside folders that only root can access`,
    );
}
