/** A hub's alert routes over a routing of their own, for tests: listening on loopback, with a clock that runs. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify, type FastifyInstance } from "fastify";
import { silentLog } from "../../base/log.ts";
import { systemClock } from "../../base/clock.ts";
import { addAlertApis } from "./apis.ts";
import { openRouting } from "./routing.ts";
import type { AlertSink, RoutingView } from "./sink.ts";

export interface AlertApiFixture {
  readonly app: FastifyInstance;
  readonly sink: AlertSink & { readonly routing: RoutingView };
  /** Puts another alertmanager.yml in place; `reload` reads it. */
  write(config: string): void;
  close(): Promise<void>;
}

export async function openAlertApiFixture(config: string): Promise<AlertApiFixture> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-alert-apis-"));
  const file = path.join(dir, "alertmanager.yml");
  const write = (text: string): void => writeFileSync(file, text);
  write(config);
  const sink = await openRouting({
    file,
    dataDir: dir,
    env: { TOKEN: "s3cret-token" },
    externalUrl: "http://hub.example:9410",
    clock: systemClock,
    random: () => 0.5,
    log: silentLog,
  });
  const app = fastify({ bodyLimit: 64 * 1024 });
  await addAlertApis(app, sink, {
    log: silentLog,
    nowMs: () => Date.now(),
    version: "1.2.3",
    startedMs: 1_700_000_000_000,
  });
  return {
    app,
    sink,
    write,
    close: async () => {
      await app.close();
      await sink.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
