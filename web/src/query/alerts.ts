/** The alerts that are on now, as Prometheus tells them. A hub without rules has none. */
import type { Labels } from "./columns.ts";
import type { AnswerState } from "./use-answer.ts";
import { useAnswer } from "./use-answer.ts";
import { getJson } from "./http.ts";

export interface ActiveAlert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly state: "pending" | "firing";
  readonly activeAt: string;
}

const EVERY_MS = 10_000;

export const useAlerts = (): AnswerState<readonly ActiveAlert[]> =>
  useAnswer(
    "alerts",
    async (signal) => {
      const body = (await getJson("api/v1/alerts", signal)) as {
        readonly data: { readonly alerts: readonly ActiveAlert[] };
      };
      return body.data.alerts;
    },
    EVERY_MS,
  );

export const levelOfAlert = ({ labels, state }: ActiveAlert): "note" | "warn" | "bad" => {
  if (state === "pending") return "note";
  if (labels["severity"] === "critical" || labels["severity"] === "page") return "bad";
  return labels["severity"] === "info" ? "note" : "warn";
};

export const sayAlert = ({ labels, annotations }: ActiveAlert): string =>
  annotations["summary"] ?? annotations["description"] ?? labels["alertname"] ?? "alert";
