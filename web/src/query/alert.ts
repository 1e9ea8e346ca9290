/** An active alert in Prometheus's format: its severity and its text. Pure. */
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
