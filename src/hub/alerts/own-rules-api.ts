/**
 * `/api/rules/own`: alert rules created on the page, added, replaced and deleted by administrators; exported as YAML for any
 * Prometheus. `/api/rules/receivers`: the receivers of an alert with the given labels.
 */
import type { FastifyInstance } from "fastify";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { durationMs } from "../../config/fields.ts";
import { noStore, sendError } from "../reply.ts";
import { OwnRuleError, type OwnRules } from "./own-rules.ts";
import type { AlertSink } from "./sink.ts";

const bodyLimit = 16_384;
const severities = ["critical", "warning", "info"] as const;

const sized = (takes: string, least: number, most: number) =>
  v.pipe(v.string(takes), v.trim(), v.minLength(least, takes), v.maxLength(most, takes));

const ruleSchema = v.strictObject({
  name: v.pipe(
    v.string("a name"),
    v.regex(/^[A-Za-z_][\w -]{0,99}$/, "a name of up to 100 letters, digits, _, - and spaces"),
  ),
  expr: sized("PromQL of at most 4000 characters", 1, 4_000),
  for: v.optional(durationMs(0, 30 * 86_400_000), "0s"),
  severity: v.picklist(severities, `one of ${severities.join(", ")}`),
  summary: v.optional(sized("text of at most 500 characters", 0, 500), ""),
  /** Refuse if a page rule of this name exists. */
  isNew: v.optional(v.boolean("true or false"), false),
});

export async function addOwnRules(
  app: FastifyInstance,
  rules: OwnRules,
  sink: AlertSink,
): Promise<void> {
  await app.register(async (api) => {
    api.setErrorHandler(async (thrown, _request, reply) => {
      if (thrown instanceof OwnRuleError) return sendError(reply, thrown.status, thrown.message);
      throw thrown;
    });
    api.addHook("onRequest", async (_request, reply) => void noStore(reply));
    api.get("/api/rules/own", async () => ({
      version: rules.version,
      rules: (await rules.rules()).map(({ name, expr, forMs, labels, annotations }) => ({
        name,
        expr,
        forSeconds: forMs / 1_000,
        severity: labels["severity"] ?? "",
        summary: annotations["summary"] ?? "",
      })),
    }));
    api.get("/api/rules/own.yaml", async (_request, reply) =>
      reply
        .type("application/yaml; charset=utf-8")
        .header("content-disposition", 'attachment; filename="gpulse-rules.yml"')
        .send(rules.text() ?? "groups: []\n"),
    );
    api.put("/api/rules/own", { bodyLimit }, async ({ body }, reply) => {
      const checked = checkValue(ruleSchema, body ?? {});
      if (!checked.ok)
        return sendError(reply, 400, checked.problems.map(({ sentence }) => sentence).join(" "));
      const { isNew, for: forMs, ...rule } = checked.value;
      return { name: rule.name, version: await rules.put({ ...rule, forMs }, isNew) };
    });
    api.delete<{ Params: { name: string } }>("/api/rules/own/:name", async ({ params }) => ({
      name: params.name,
      version: await rules.remove(params.name),
    }));
    api.get<{ Querystring: Readonly<Record<string, string | string[]>> }>(
      "/api/rules/receivers",
      async ({ query }) => {
        const labels = new Map(
          Object.entries(query).flatMap(([name, value]) =>
            typeof value === "string" ? [[name, value] as const] : [],
          ),
        );
        const routes = sink.routing?.router.routesOf(labels) ?? [];
        return {
          // Null if external Alertmanagers route.
          receivers:
            sink.routing === undefined
              ? null
              : [...new Set(routes.map(({ receiver }) => receiver))],
          alertmanagers: sink.alertmanagers?.active ?? [],
        };
      },
    );
  });
}
