/** Whoever takes alerts on: the router in this hub, or Alertmanagers elsewhere. */
import type { ToldAlert } from "../../alert/route/alert-book.ts";

export interface AlertSink {
  /** Takes them on at once and without waiting; returns how many found no room. */
  put(alerts: readonly ToldAlert[]): number;
}
