/**
 * TCP ports on which a process or one of its ancestors listens, to match a server with the GPUs of its workers: vLLM and SGLang listen
 * in the parent of the processes that hold the GPUs. Only sockets in the machine's own network namespace count, because a port in a
 * container's network is not reachable at the machine's address.
 *
 * `/proc/1/net/tcp`, a line for each socket; state 0A is LISTEN, the second and the tenth field are the local address and the inode:
 *
 *   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
 *    0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 34011 1 ...
 *
 * `/proc/PID/fd/N` is a link to `socket:[34011]`.
 */
import type { FileAccess } from "../sysfs/file-access.ts";
import { listDir, readLink, readText } from "../sysfs/read.ts";
import { parseStat } from "./proc.ts";

/** About 25,000 sockets; a longer table is read up to this size. */
const mostTableBytes = 4_194_304;
const mostFiles = 4_096;
/** Limit of ancestors: launcher, shell and session are at most a few generations above a server's workers. */
const mostGenerations = 6;
const mostPorts = 16;

export class ListeningPorts {
  readonly #procfs: string;
  readonly #fileAccess: FileAccess;

  constructor(procfs: string, fileAccess: FileAccess) {
    this.#procfs = procfs;
    this.#fileAccess = fileAccess;
  }

  /** The ports of each process in ascending order, at most 16. A process that may not be inspected adds none. Never rejects. */
  async of(pids: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>> {
    const byInode = pids.length === 0 ? new Map<string, number>() : await this.#table();
    const ofProcess = new Map<number, Promise<readonly number[]>>();
    const portsOf = (pid: number): Promise<readonly number[]> => {
      const found = ofProcess.get(pid) ?? this.#portsOf(pid, byInode);
      ofProcess.set(pid, found);
      return found;
    };
    const result = new Map<number, readonly number[]>();
    for (const pid of pids) {
      const ports = new Set<number>();
      for (const one of byInode.size === 0 ? [] : await this.#lineage(pid))
        for (const port of await portsOf(one)) ports.add(port);
      result.set(pid, [...ports].toSorted((a, b) => a - b).slice(0, mostPorts));
    }
    return result;
  }

  async #table(): Promise<ReadonlyMap<string, number>> {
    const byInode = new Map<string, number>();
    for (const name of ["tcp", "tcp6"]) {
      const machine = await readText(
        `${this.#procfs}/1/net/${name}`,
        mostTableBytes,
        this.#fileAccess,
      );
      const text = machine.ok
        ? machine
        : await readText(`${this.#procfs}/net/${name}`, mostTableBytes, this.#fileAccess);
      if (text.ok) for (const [inode, port] of parseListeners(text.value)) byInode.set(inode, port);
    }
    return byInode;
  }

  /** The process and its ancestors, without the machine's first process. */
  async #lineage(pid: number): Promise<readonly number[]> {
    const lineage: number[] = [];
    for (let one = pid; one > 1 && lineage.length < mostGenerations;) {
      lineage.push(one);
      const stat = await readText(`${this.#procfs}/${one}/stat`, 4_096, this.#fileAccess);
      one = (stat.ok ? parseStat(stat.value)?.parent : undefined) ?? 0;
    }
    return lineage;
  }

  async #portsOf(pid: number, byInode: ReadonlyMap<string, number>): Promise<readonly number[]> {
    const folder = `${this.#procfs}/${pid}/fd`;
    const files = await listDir(folder, this.#fileAccess);
    if (!files.ok) return [];
    const links = await Promise.all(
      files.value
        .slice(0, mostFiles)
        .map((file) => readLink(`${folder}/${file}`, this.#fileAccess)),
    );
    return links.flatMap((link) => {
      const inode = link.ok ? /^socket:\[(\d+)\]$/.exec(link.value)?.[1] : undefined;
      const port = inode === undefined ? undefined : byInode.get(inode);
      return port === undefined ? [] : [port];
    });
  }
}

/** The inode and port of each listening socket. */
export function parseListeners(text: string): (readonly [inode: string, port: number])[] {
  return text.split("\n").flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/, 10);
    const port = /^[\dA-F]{8,32}:([\dA-F]{4})$/.exec(local ?? "")?.[1];
    return state === "0A" && port !== undefined && inode !== undefined && /^[1-9]\d*$/.test(inode)
      ? [[inode, Number.parseInt(port, 16)] as const]
      : [];
  });
}
