/** The active alerts, in Prometheus's format. Empty for a hub without rules. */
import type { ActiveAlert } from "./alert.ts";
import { type FetchState, useFetch } from "./use-fetch.ts";
import { getJson } from "./http.ts";

const EVERY_MS = 10_000;

export const useAlerts = (): FetchState<readonly ActiveAlert[]> =>
  useFetch(
    "alerts",
    async (signal) => {
      const body = (await getJson("api/v1/alerts", signal)) as {
        readonly data: { readonly alerts: readonly ActiveAlert[] };
      };
      return body.data.alerts;
    },
    EVERY_MS,
  );
