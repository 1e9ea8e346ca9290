import { type ChildProcess, spawn } from "node:child_process";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type FileAccess, hostFileAccess } from "../sysfs/file-access.ts";
import { ListeningPorts, parseListeners } from "./listening-ports.ts";

const servers: Server[] = [];
const children: ChildProcess[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function listen(host: string): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

/** Starts a child of this process that does not listen itself. */
function worker(): number {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  children.push(child);
  return child.pid ?? 0;
}

test("a worker has the ports that its parent listens on, by IPv4 and IPv6", async () => {
  const ports = await Promise.all([listen("127.0.0.1"), listen("0.0.0.0"), listen("::")]);
  const pid = worker();
  const found = await new ListeningPorts("/proc", hostFileAccess).of([pid, process.pid]);
  expect(found.get(process.pid)).toEqual(expect.arrayContaining(ports));
  expect(found.get(pid)).toEqual(expect.arrayContaining(ports));
});

test("a process whose files may not be looked into adds no port, and its parent's are found", async () => {
  const port = await listen("127.0.0.1");
  const pid = worker();
  const refusing: FileAccess = {
    ...hostFileAccess,
    list: (path) =>
      path.startsWith(`/proc/${pid}/`)
        ? Promise.reject(Object.assign(new Error("no"), { code: "EACCES" }))
        : hostFileAccess.list(path),
  };
  expect((await new ListeningPorts("/proc", refusing).of([pid])).get(pid)).toContain(port);
});

test("a process that is gone, and a machine without a socket table, have none", async () => {
  await listen("127.0.0.1");
  expect((await new ListeningPorts("/proc", hostFileAccess).of([2 ** 22 + 1])).size).toBe(1);
  expect(await new ListeningPorts("/nowhere", hostFileAccess).of([process.pid])).toEqual(
    new Map([[process.pid, []]]),
  );
});

const head =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const rest = "00000000:00000000 00:00000000 00000000  1000        0";
test.each([
  ["0100007F:1F90 00000000:0000 0A", "34011", [["34011", 8_080]]],
  [
    "00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A",
    "7",
    [["7", 443]],
  ],
  // An open connection, a socket without an inode, and no socket at all.
  ["0100007F:1F90 0100007F:C350 01", "34012", []],
  ["0100007F:1F90 00000000:0000 0A", "0", []],
  ["nonsense", "34011", []],
])("sockets that listen: %s %s", (start, inode, expected) => {
  expect(
    parseListeners(`${head}\n   0: ${start} ${rest} ${inode} 1 0000000000000000 100 0 0 10 0\n`),
  ).toEqual(expected);
});
