/** `/api/v2/status` and `/api/v2/receivers`. */
import type { FastifyInstance } from "fastify";
import type { V2Context } from "./context.ts";
import { renderPublicConfig } from "./public-config.ts";

export function addStatusRoutes(app: FastifyInstance, context: V2Context): void {
  app.get("/api/v2/status", async () => ({
    cluster: { peers: [], status: "disabled" },
    config: { original: await renderPublicConfig(context.router().config.source) },
    uptime: new Date(context.startedMs).toISOString(),
    versionInfo: {
      branch: "",
      buildDate: "",
      buildUser: "",
      goVersion: "",
      revision: `gpulse-${context.version}`,
      // Clients choose API features by this version: it is that of the Alertmanager whose API is implemented.
      version: "0.25.0",
    },
  }));
  app.get("/api/v2/receivers", async () =>
    context.router().config.receivers.map(({ name }) => ({ name })),
  );
}
