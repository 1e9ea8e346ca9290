// A hub and its scrape targets, for the tests of third-party exporters.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll } from "vitest";
import { type RunningHub, startHub } from "../../engines/hub.ts";

export interface ExportersLab {
  /** Closers, called in reverse order after the tests of the file. */
  readonly closes: (() => Promise<unknown>)[];
  readonly openHub: (...args: readonly string[]) => Promise<RunningHub>;
  /** Starts a hub with this prometheus.yml. */
  readonly openScraper: (config: Readonly<Record<string, unknown>>) => Promise<RunningHub>;
}

export function useExportersLab(): ExportersLab {
  const closes: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const close of closes.reverse()) await close();
  });
  const makeFolder = async (): Promise<string> => {
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-exporters-"));
    closes.push(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  const openHub = async (...args: readonly string[]): Promise<RunningHub> => {
    const hub = await startHub({ dataDir: await makeFolder(), args });
    closes.push(() => hub.stop());
    return hub;
  };
  return {
    closes,
    openHub,
    openScraper: async (config) => {
      const file = path.join(await makeFolder(), "prometheus.yml");
      await writeFile(file, JSON.stringify(config));
      return openHub(`--prometheus-config=${file}`);
    },
  };
}

/** The values of an instant query by UUID. */
export async function valuesByUuid(
  hub: RunningHub,
  query: string,
): Promise<Record<string, string>> {
  const response = await fetch(`${hub.url}/api/v1/query?query=${encodeURIComponent(query)}`);
  const { data } = (await response.json()) as {
    data: { result: { metric: Record<string, string>; value: [number, string] }[] };
  };
  return Object.fromEntries(
    data.result.map(({ metric, value }) => [metric["uuid"] ?? "", value[1]] as const),
  );
}

/** The UUIDs on the fleet page. */
export async function fleetUuids(hub: RunningHub): Promise<readonly string[]> {
  const text = await (await fetch(`${hub.url}/api/fleet`)).text();
  return [...new Set([...text.matchAll(/"uuid":"([^"]+)"/g)].map(([, uuid = ""]) => uuid))].sort();
}
