// The stack's ports: well-known ones, or free ones. A port in use is reported before anything starts.

import { once } from "node:events";
import { createServer } from "node:net";

import { freePort } from "../../engines/ports.ts";

const USUAL_PORTS = {
  nginx: 8080,
  gateway: 8081,
  worker: 8082,
  ml: 8083,
  load: 8084,
  cadvisor: 8085,
  mailbox: 8025,
  smtp: 2525,
  traces: 4318,
  redis: 6379,
  postgres: 5432,
  node: 9100,
  "redis-exporter": 9121,
  "postgres-exporter": 9187,
  "nginx-exporter": 9113,
  agent: 9400,
  hub: 9410,
  prometheus: 9090,
  alertmanager: 9093,
  victoriametrics: 8428,
} as const;

export type PortName = keyof typeof USUAL_PORTS;
export type Ports = Readonly<Record<PortName, number>>;

/** @param without omitted services, whose ports may be in use */
export async function choosePorts(
  kind: "usual" | "free",
  without: readonly string[],
): Promise<Ports> {
  if (kind === "usual") {
    await refuseTaken(without);
    return USUAL_PORTS;
  }
  const names = Object.keys(USUAL_PORTS) as PortName[];
  const chosen = new Set<number>();
  while (chosen.size < names.length) chosen.add(await freePort());
  const ports = [...chosen];
  return Object.fromEntries(names.map((name, index) => [name, ports[index]])) as Ports;
}

async function refuseTaken(without: readonly string[]): Promise<void> {
  const taken: string[] = [];
  for (const [name, port] of Object.entries(USUAL_PORTS))
    if (!without.includes(name) && !(await isFree(port))) taken.push(`${port} (${name})`);
  if (taken.length === 0) return;
  throw new Error(
    `port ${taken.join(", ")} is already in use: stop that program (ss -ltnp shows it), leave the service out with --without NAME, or use other ports with --ports free`,
  );
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return true;
  } catch {
    return false;
  }
}
