/**
 * Starts the attacked programs as real processes: the built hub with tokens, one that is reachable from the network, and an agent.
 */
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";

export interface AttackedHub {
  readonly port: number;
  readonly dataDir: string;
  readonly process: RunningProcess;
  readonly tokens: Readonly<Record<"push" | "read" | "admin", string>>;
}

export interface AttackLab {
  readonly folder: string;
  /** On loopback, with a token required from every client. */
  readonly hub: AttackedHub;
  /** On all interfaces, as behind a proxy. */
  readonly open: AttackedHub;
  readonly agent: { readonly port: number; readonly process: RunningProcess };
  /** An internal server that attackers try to reach through the hub; counts its requests. */
  readonly bait: { readonly port: number; taken(): number };
  close(): Promise<void>;
}

export const gpulse = (args: readonly string[]) =>
  runProcess(process.execPath, [hubProgram, ...args], { timeoutMs: 60_000 });

export async function openAttackLab(config: string): Promise<AttackLab> {
  await ensureBuild();
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-attack-"));
  const ends: (() => Promise<unknown> | void)[] = [
    () => rmSync(folder, { recursive: true, force: true }),
  ];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    let taken = 0;
    const bait = http.createServer((_request, reply) => {
      taken++;
      reply.end("secret of the inner network");
    });
    await new Promise<void>((resolve) => bait.listen(0, "127.0.0.1", resolve));
    ends.push(() => {
      bait.closeAllConnections();
      bait.close();
    });
    const [hub, open] = await Promise.all([
      startAttacked(path.join(folder, "hub"), [
        "--host=127.0.0.1",
        "--auth=always",
        `--config=${config}`,
      ]),
      startAttacked(path.join(folder, "open"), [
        "--host=0.0.0.0",
        "--behind-proxy",
        `--config=${config}`,
      ]),
    ]);
    for (const one of [hub, open]) ends.push(() => one.process.stop(20_000));
    const port = await freePort();
    const agent = startProcess(
      process.execPath,
      [hubProgram, "agent", "--source=sim:1", "--host=127.0.0.1", `--port=${port}`],
      { name: "gpulse agent" },
    );
    ends.push(() => agent.stop());
    await agent.waitForUrl(`http://127.0.0.1:${port}/readyz`, 60_000);
    return {
      folder,
      hub,
      open,
      agent: { port, process: agent },
      bait: { port: (bait.address() as AddressInfo).port, taken: () => taken },
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

export async function startAttacked(
  dataDir: string,
  args: readonly string[],
): Promise<AttackedHub> {
  const made = await Promise.all(
    (["push", "read", "admin"] as const).map(async (scope) => {
      const { stdout } = await gpulse(["token", "add", scope, "--scope", scope, "--data", dataDir]);
      return [scope, stdout.split("\n", 1)[0] ?? ""] as const;
    }),
  );
  const port = await freePort();
  const hub = startProcess(
    process.execPath,
    [hubProgram, "hub", `--port=${port}`, `--data=${dataDir}`, "--no-self-scrape", ...args],
    { name: "gpulse hub" },
  );
  await hub.waitForUrl(`http://127.0.0.1:${port}/-/ready`, 60_000);
  const [push = "", read = "", admin = ""] = made.map(([, token]) => token);
  return { port, dataDir, process: hub, tokens: { push, read, admin } };
}
