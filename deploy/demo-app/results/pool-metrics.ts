// Metrics of a program's database connection pool.

import type { Pool } from "pg";
import { Gauge, type Registry } from "prom-client";

export function tellPool(registry: Registry, program: string, pool: Pool): void {
  const gauge: Gauge = new Gauge({
    name: `${program}_db_pool_connections`,
    help: "Connections of the database pool; waiting: callers that wait for one.",
    labelNames: ["state"],
    registers: [registry],
    collect: () => {
      gauge.set({ state: "total" }, pool.totalCount);
      gauge.set({ state: "idle" }, pool.idleCount);
      gauge.set({ state: "waiting" }, pool.waitingCount);
    },
  });
}
