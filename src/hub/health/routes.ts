/** `GET /api/health`: the verdict on every GPU, filtered by host, uuid or state. */
import type { FastifyInstance } from "fastify";
import { healthStates } from "../../view/health/verdict.ts";
import { noStore } from "../reply.ts";
import type { HubHealth } from "./health.ts";

interface HealthQuery {
  readonly Querystring: Readonly<Record<string, string | readonly string[] | undefined>>;
}

const parameters = new Set(["host", "uuid", "state"]);
const allStates: readonly string[] = [...healthStates, "unknown"];

export function addHealth(app: FastifyInstance, health: HubHealth): void {
  app.get<HealthQuery>("/api/health", async (request, reply) => {
    const { host, uuid, state } = request.query;
    for (const [name, value] of Object.entries(request.query))
      if (!parameters.has(name) || typeof value !== "string")
        return reply.code(400).send({
          error: `The parameter ${name.slice(0, 40)} is unknown or repeated: use host, uuid and state.`,
        });
    const states = typeof state === "string" ? state.split(",") : undefined;
    const wrong = states?.find((one) => !allStates.includes(one));
    if (wrong !== undefined)
      return reply.code(400).send({
        error: `state takes ${allStates.join(", ")}, separated by commas, not "${wrong.slice(0, 40)}".`,
      });
    return noStore(reply).send(
      health.report({
        host: typeof host === "string" ? host : undefined,
        uuid: typeof uuid === "string" ? uuid : undefined,
        states,
      }),
    );
  });
}
