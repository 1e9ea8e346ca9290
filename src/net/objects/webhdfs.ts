/**
 * HDFS through its REST interface (WebHDFS). A file is created in a temporary folder and renamed when it is complete. Creating and
 * reading take two steps: the name node returns which data node to use.
 */
import {
  HttpAgent,
  HttpRequestError,
  type HttpResponse,
  request,
  type RequestOptions,
} from "../http/request.ts";
import type { Env } from "../../config/secrets.ts";
import { parseAddress } from "./open.ts";
import {
  type ByteRange,
  checkPath,
  type FileInfo,
  type FileStore,
  FileStoreError,
  sortByPath,
  temporaryFolder,
} from "./store.ts";

const timeoutMs = 60_000;
const maxBytes = 512 * 2 ** 20;

interface HdfsStatus {
  readonly pathSuffix: string;
  readonly type: "FILE" | "DIRECTORY";
  readonly length: number;
  readonly modificationTime: number;
}

let written = 0;

export function openWebHdfs(address: string, env: Env): FileStore {
  const { url, options } = parseAddress(address, ["user"]);
  const secure = url.protocol === "swebhdfs:";
  if (url.hostname === "" || url.pathname === "/" || url.pathname === "")
    throw new FileStoreError(
      "FILES_ADDRESS",
      `"${address}" is not an HDFS path: write webhdfs://HOST:9870/PATH?user=NAME.`,
    );
  const origin = `${secure ? "https" : "http"}://${url.hostname}:${url.port || (secure ? "9871" : "9870")}`;
  return new WebHdfsFiles(
    origin,
    decodeURIComponent(url.pathname).replace(/\/+$/, ""),
    options["user"] ?? env["HADOOP_USER_NAME"],
  );
}

class WebHdfsFiles implements FileStore {
  readonly name: string;
  readonly #origin: string;
  readonly #root: string;
  readonly #user: string | undefined;
  readonly #agent = new HttpAgent();

  constructor(origin: string, root: string, user: string | undefined) {
    this.#origin = origin;
    this.#root = root;
    this.#user = user;
    this.name = `${origin.replace(/^http/, "webhdfs").replace(/^webhdfss/, "swebhdfs")}${root}`;
  }

  async list(prefix: string, signal?: AbortSignal): Promise<readonly FileInfo[]> {
    const found: FileInfo[] = [];
    const slash = prefix.lastIndexOf("/");
    await this.#collect(slash < 0 ? "" : prefix.slice(0, slash), found, signal);
    return sortByPath(found.filter((file) => file.path.startsWith(prefix)));
  }

  async read(file: string, range?: ByteRange, signal?: AbortSignal): Promise<Uint8Array> {
    const path = this.#at(file);
    const part =
      range === undefined
        ? {}
        : { offset: String(range.start), length: String(range.end - range.start) };
    const located = await this.#ask("GET", "OPEN", path, { ...part, noredirect: "true" }, signal);
    this.#expect(located, file, 200);
    const place = locationOf(located);
    // Older name nodes ignore noredirect and return the data itself after a redirect.
    if (place === undefined) return located.body;
    const answer = await this.#send(place, { method: "GET" }, signal);
    this.#expect(answer, file, 200);
    return answer.body;
  }

  async write(file: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    await this.#place(file, bytes, signal, (aside, path) =>
      this.#replace(aside, path, file, signal),
    );
  }

  create(file: string, bytes: Uint8Array, signal?: AbortSignal): Promise<boolean> {
    // HDFS does not rename over a file.
    return this.#place(file, bytes, signal, (aside, path) =>
      this.#rename(aside, path, file, signal),
    );
  }

  async move(from: string, to: string, signal?: AbortSignal): Promise<void> {
    const path = this.#at(to);
    await this.#make(path.slice(0, path.lastIndexOf("/")), to, signal);
    if (await this.#rename(this.#at(from), path, to, signal)) return;
    const source = await this.#ask("GET", "GETFILESTATUS", this.#at(from), {}, signal);
    if (source.status !== 404)
      throw new FileStoreError("FILES_FAILED", `${this.name}/${to} could not be renamed.`);
  }

  /** Writes the bytes to a temporary file and renames it; false if the name is taken. */
  async #place(
    file: string,
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
    name: (aside: string, path: string) => Promise<boolean>,
  ): Promise<boolean> {
    const path = this.#at(file);
    const aside = `${this.#root}/${temporaryFolder}/${process.pid}-${Date.now()}-${written++}`;
    try {
      const located = await this.#ask(
        "PUT",
        "CREATE",
        aside,
        { overwrite: "true", noredirect: "true" },
        signal,
      );
      this.#expect(located, file, 200, 201, 307);
      const place = located.headers["location"] ?? locationOf(located);
      if (place === undefined)
        throw new FileStoreError("FILES_FAILED", `${this.name} did not return a write location.`);
      const made = await this.#send(
        place,
        { method: "PUT", body: bytes, headers: { "content-type": "application/octet-stream" } },
        signal,
      );
      this.#expect(made, file, 201);
      await this.#make(path.slice(0, path.lastIndexOf("/")), file, signal);
      const isNamed = await name(aside, path);
      if (!isNamed) await this.#delete(aside, file, signal);
      return isNamed;
    } catch (thrown) {
      await this.#ask("DELETE", "DELETE", aside, {}).catch(() => undefined);
      throw thrown;
    }
  }

  async remove(file: string, signal?: AbortSignal): Promise<void> {
    await this.#delete(this.#at(file), file, signal);
  }

  close(): void {
    this.#agent.close();
  }

  #at(file: string): string {
    return `${this.#root}/${checkPath(file)}`;
  }

  /** Deletes a file of the same name if necessary: HDFS does not rename over a file. */
  async #replace(
    from: string,
    to: string,
    file: string,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    if (await this.#rename(from, to, file, signal)) return true;
    await this.#delete(to, file, signal);
    if (await this.#rename(from, to, file, signal)) return true;
    throw new FileStoreError("FILES_FAILED", `${this.name}/${file} could not be renamed.`);
  }

  async #make(folder: string, file: string, signal: AbortSignal | undefined): Promise<void> {
    this.#expect(await this.#ask("PUT", "MKDIRS", folder, {}, signal), file, 200);
  }

  async #delete(path: string, file: string, signal: AbortSignal | undefined): Promise<void> {
    this.#expect(await this.#ask("DELETE", "DELETE", path, {}, signal), file, 200);
  }

  async #rename(
    from: string,
    to: string,
    file: string,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const answer = await this.#ask("PUT", "RENAME", from, { destination: to }, signal);
    this.#expect(answer, file, 200);
    return (json(answer) as { boolean?: boolean }).boolean === true;
  }

  async #collect(
    folder: string,
    found: FileInfo[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const path = folder === "" ? this.#root : `${this.#root}/${folder}`;
    const answer = await this.#ask("GET", "LISTSTATUS", path, {}, signal);
    if (answer.status === 404) return;
    this.#expect(answer, folder, 200);
    const { FileStatuses } = json(answer) as {
      FileStatuses?: { FileStatus?: readonly HdfsStatus[] };
    };
    for (const status of FileStatuses?.FileStatus ?? []) {
      if (status.pathSuffix === "") continue;
      const inside = folder === "" ? status.pathSuffix : `${folder}/${status.pathSuffix}`;
      if (inside === temporaryFolder) continue;
      if (status.type === "DIRECTORY") await this.#collect(inside, found, signal);
      else found.push({ path: inside, bytes: status.length, modifiedMs: status.modificationTime });
    }
  }

  #ask(
    method: "GET" | "PUT" | "DELETE",
    operation: string,
    path: string,
    options: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<HttpResponse> {
    const query = new URLSearchParams({
      op: operation,
      ...(this.#user === undefined ? {} : { "user.name": this.#user }),
      ...options,
    });
    const place = path.split("/").map(encodeURIComponent).join("/");
    return this.#send(`${this.#origin}/webhdfs/v1${place}?${query.toString()}`, { method }, signal);
  }

  async #send(
    url: string,
    options: Pick<RequestOptions, "method" | "body" | "headers">,
    signal: AbortSignal | undefined,
  ): Promise<HttpResponse> {
    try {
      return await request(url, {
        ...options,
        timeoutMs,
        maxBytes,
        agent: this.#agent,
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (thrown) {
      if (signal?.aborted === true || !(thrown instanceof HttpRequestError)) throw thrown;
      throw new FileStoreError(
        thrown.kind === "too-large" ? "FILES_FAILED" : "FILES_UNREACHABLE",
        `${this.name} does not answer (${thrown.message}): check that name node and data nodes run and can be reached.`,
        thrown,
      );
    }
  }

  #expect(answer: HttpResponse, file: string, ...good: readonly number[]): void {
    if (good.includes(answer.status)) return;
    const { exception = "", message = answer.body.toString("utf8", 0, 200) } =
      remoteException(answer);
    const place = `${this.name}/${file}`;
    const reason = message.split("\n", 1)[0] ?? "";
    if (answer.status === 404)
      throw new FileStoreError("FILES_MISSING", `There is no file ${place}.`);
    if (
      /DSQuotaExceeded|NSQuotaExceeded|DiskOutOfSpace|could only be (?:written|replicated)/i.test(
        exception + reason,
      )
    )
      throw new FileStoreError("FILES_FULL", `There is no space left for ${place}: ${reason}`);
    // HDFS returns 403 for all of its I/O errors: a starting name node, unreachable data nodes, a broken connection.
    if (passing.test(exception) || /find datanode/.test(reason))
      throw new FileStoreError("FILES_UNREACHABLE", `${this.name} is not writable now: ${reason}`);
    const isDenied = exception === "" && (answer.status === 401 || answer.status === 403);
    if (isDenied || /AccessControl|Security|Authori[sz]ation|Authentication/.test(exception))
      throw new FileStoreError(
        "FILES_DENIED",
        `${place}: ${reason} Give a user that may write there: webhdfs://…?user=NAME.`,
      );
    throw new FileStoreError(
      answer.status >= 500 ? "FILES_UNREACHABLE" : "FILES_FAILED",
      `${place}: ${exception} ${reason}`.trim(),
    );
  }
}

/** HDFS exceptions that are temporary. */
const passing =
  /^(?:IOException|EOFException|RemoteException|\w*(?:Connect|Timeout|Socket|NoRoute|SafeMode|Standby|Retriable|Retry|LeaseExpired)\w*)$/;

function json(answer: HttpResponse): unknown {
  try {
    return JSON.parse(answer.body.toString("utf8"));
  } catch {
    return {};
  }
}

function locationOf(answer: HttpResponse): string | undefined {
  if (answer.headers["location"] !== undefined) return answer.headers["location"];
  if (!(answer.headers["content-type"] ?? "").includes("json")) return undefined;
  const { Location } = json(answer) as { Location?: unknown };
  return typeof Location === "string" ? Location : undefined;
}

function remoteException(answer: HttpResponse): { exception?: string; message?: string } {
  const body = json(answer) as { RemoteException?: { exception?: string; message?: string } };
  return body.RemoteException ?? {};
}
