// A real schema registry, Apicurio, on a free loopback port with its data in memory. It serves Confluent's API below a path of
// its own. Confluent's server is not available from the usual registries, and Karapace is not on PyPI.

import { readdirSync } from "node:fs";
import path from "node:path";

import { EngineMissingError, mavenJars, requiredTool } from "./cache.ts";
import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";

export interface RunningSchemaRegistry {
  /** The registry's URL for clients. */
  readonly url: string;
  /** Suspends the process: connections are accepted, and nothing is answered until `thaw`. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export async function registryJar(): Promise<string> {
  const folder = await mavenJars("apicurio", "unpack-dependencies");
  const jar = readdirSync(folder).find((name) => name.endsWith("-runner.jar"));
  if (jar === undefined) throw new EngineMissingError(`${folder} has no registry in it`);
  return path.join(folder, jar);
}

export async function startSchemaRegistry(): Promise<RunningSchemaRegistry> {
  const java = requiredTool("java");
  const jar = await registryJar();
  const port = await freePort();
  const heap = ["-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
  const server = startProcess(java, [...heap, "-jar", jar], {
    name: "schema registry",
    env: { QUARKUS_HTTP_HOST: "127.0.0.1", QUARKUS_HTTP_PORT: String(port) },
  });
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  try {
    await server.waitForUrl(`${url}/subjects`, 120_000);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    url,
    freeze: () => void process.kill(server.pid, "SIGSTOP"),
    thaw: () => void process.kill(server.pid, "SIGCONT"),
    stop: async () => {
      process.kill(server.pid, "SIGCONT");
      await server.stop();
    },
  };
}
