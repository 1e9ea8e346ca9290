/** An alert that is on, as Prometheus tells it: how loud it is, and what it says. Pure. */
import type { Labels } from "./columns.ts";

export interface ActiveAlert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly state: "pending" | "firing";
  readonly activeAt: string;
}

export const levelOfAlert = ({ labels, state }: ActiveAlert): "note" | "warn" | "bad" => {
  if (state === "pending") return "note";
  if (labels["severity"] === "critical" || labels["severity"] === "page") return "bad";
  return labels["severity"] === "info" ? "note" : "warn";
};

export const formatActiveAlert = ({ labels, annotations }: ActiveAlert): string =>
  annotations["summary"] ?? annotations["description"] ?? labels["alertname"] ?? "alert";
