/** Whoever takes alerts on: the router in this hub, or Alertmanagers elsewhere. */
import type { ToldAlert } from "../../alert/route/alert-book.ts";

export interface AlertSink {
  /** Takes them on at once and without waiting; returns how many found no room. */
  put(alerts: readonly ToldAlert[]): number;
  /** Alertmanagers elsewhere, where they route. */
  readonly alertmanagers?:
    | { readonly active: readonly string[]; readonly dropped: readonly string[] }
    | undefined;
  /** Reads its files again. @throws GpulseError with what is wrong; what was in use stays in use. */
  reload(): Promise<void>;
  close(): Promise<void>;
}
