// Starts the built programs to fuzz on loopback: a hub that prints its routes, an agent, and a listening pipe.

import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { hubProgram } from "../../../engines/hub.ts";
import { freePort } from "../../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../../engines/process.ts";
import type { FuzzRoute } from "./make.ts";

/** Fastify publishes each server instance on a diagnostics channel; this records its routes as they are added, by any module. */
const printRoutesModule = `data:text/javascript,${encodeURIComponent(`
  import { subscribe } from "node:diagnostics_channel";
  import { appendFileSync } from "node:fs";
  subscribe("fastify.initialization", ({ fastify }) =>
    fastify.addHook("onRoute", ({ method, url }) =>
      [method].flat().forEach((one) => appendFileSync(process.env.GPULSE_FUZZ_ROUTES, one + " " + url + "\\n"))));
`)}`;

export interface FuzzedServer {
  readonly name: string;
  readonly port: number;
  readonly process: RunningProcess;
  readonly routes: readonly FuzzRoute[];
  readonly token: string;
  /** URL that returns 200 while the program is healthy. */
  readonly health: string;
}

export interface Servers {
  readonly hub: FuzzedServer;
  readonly agent: FuzzedServer;
  readonly pipe: FuzzedServer;
  stop(): Promise<void>;
}

const paths = (...urls: readonly string[]): FuzzRoute[] =>
  urls.map((url) => ({ method: "GET", url }));

export async function startServers(): Promise<Servers> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-fuzz-http-"));
  const started: RunningProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((one) => one.stop(20_000)));
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const token = `gpulse_admin_${randomBytes(32).toString("base64url")}`;
  const tokenFile = path.join(folder, "token");
  writeFileSync(tokenFile, token);
  const data = path.join(folder, "data");
  const routesFile = path.join(folder, "routes");
  const start = (args: readonly string[], name: string): RunningProcess => {
    const one = startProcess(process.execPath, args, {
      name,
      cwd: folder,
      env: { GPULSE_FUZZ_ROUTES: routesFile },
    });
    started.push(one);
    return one;
  };
  try {
    const add = [
      "token",
      "add",
      "fuzz",
      "--scope=admin",
      `--token=file:${tokenFile}`,
      `--data=${data}`,
    ];
    const made = await runProcess(process.execPath, [hubProgram, ...add], { cwd: folder });
    if (made.code !== 0) throw new Error(`no token was made: ${made.stderr}`);
    const [hubPort, agentPort, pipePort, otlpPort] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    const on = (port: number): string[] => ["--host=127.0.0.1", `--port=${port}`];
    const hub = start(
      [
        "--import",
        printRoutesModule,
        hubProgram,
        "hub",
        ...on(hubPort),
        `--data=${data}`,
        "--auth=always",
        "--no-private-outbound",
      ],
      "gpulse hub",
    );
    const agent = start([hubProgram, "agent", ...on(agentPort), "--source=sim:1"], "gpulse agent");
    const pipe = start(
      [
        hubProgram,
        "pipe",
        `--from=otlp+http://127.0.0.1:${otlpPort}`,
        "--to=stdout:",
        `--port=${pipePort}`,
      ],
      "gpulse pipe",
    );
    await hub.waitForUrl(`http://127.0.0.1:${hubPort}/-/healthy`, 90_000);
    // The health endpoint responds before the routes exist; other requests wait until they do.
    await fetch(`http://127.0.0.1:${hubPort}/api/fleet`);
    await agent.waitForUrl(`http://127.0.0.1:${agentPort}/healthz`, 90_000);
    await pipe.waitForUrl(`http://127.0.0.1:${pipePort}/healthz`, 90_000);
    const routes = [...new Set(readFileSync(routesFile, "utf8").trim().split("\n"))].map((line) => {
      const [method = "", url = ""] = line.split(" ");
      return { method, url };
    });
    return {
      hub: { name: "http-hub", port: hubPort, process: hub, routes, token, health: "/-/healthy" },
      agent: {
        name: "http-agent",
        port: agentPort,
        process: agent,
        routes: paths(
          "/metrics",
          "/stats",
          "/api/health",
          "/api/snapshot",
          "/healthz",
          "/readyz",
          "/",
        ),
        token,
        health: "/healthz",
      },
      pipe: {
        name: "http-pipe",
        port: pipePort,
        process: pipe,
        routes: paths("/metrics", "/healthz", "/"),
        token,
        health: "/healthz",
      },
      stop,
    };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}
