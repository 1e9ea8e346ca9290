/** Files in an S3-compatible bucket. One PUT is visible whole or not at all; large files are uploaded in parts. */
import type { Env } from "../../config/secrets.ts";
import type { S3Client } from "@aws-sdk/client-s3";
import type * as sdkTypes from "@aws-sdk/client-s3";
import { formatError } from "../../base/error.ts";
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

/** Size of a part; S3 accepts 5 MiB to 5 GiB. */
const partBytes = 64 * 2 ** 20;
const timeoutMs = 60_000;

type Sdk = Omit<typeof sdkTypes, "default">;

/** `s3://bucket/prefix?endpoint=http://host:9000&region=eu-central-1&path-style=true`. */
export async function openS3(address: string, env: Env): Promise<FileStore> {
  const { url, options } = parseAddress(address, ["endpoint", "region", "path-style"]);
  const bucket = url.hostname;
  if (bucket === "")
    throw new FileStoreError("FILES_ADDRESS", `"${address}" names no bucket: s3://BUCKET/PREFIX.`);
  const endpoint = options["endpoint"] ?? env["AWS_ENDPOINT_URL_S3"] ?? env["AWS_ENDPOINT_URL"];
  const accessKeyId = env["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"];
  const sessionToken = env["AWS_SESSION_TOKEN"];
  // Hides the SDK's deprecation warnings, which a gpulse user cannot act on.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
  // In a bundle, a CommonJS package has only its default export.
  const { default: sdk } = await import("@aws-sdk/client-s3");
  const client = new sdk.S3Client({
    region: options["region"] ?? env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"] ?? "us-east-1",
    ...(endpoint === undefined ? {} : { endpoint }),
    // Most servers other than Amazon's have no host name per bucket.
    forcePathStyle: (options["path-style"] ?? String(endpoint !== undefined)) === "true",
    // Compatible servers do not support the newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { requestTimeout: timeoutMs, connectionTimeout: 10_000 },
    maxAttempts: 3,
    // Without these variables the SDK tries its other sources: profiles, the container, the instance.
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : {
          credentials: {
            accessKeyId,
            secretAccessKey,
            ...(sessionToken === undefined ? {} : { sessionToken }),
          },
        }),
  });
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, "");
  return new S3Files(sdk, client, bucket, prefix === "" ? "" : `${prefix}/`);
}

class S3Files implements FileStore {
  readonly name: string;
  readonly #sdk: Sdk;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(sdk: Sdk, client: S3Client, bucket: string, prefix: string) {
    this.#sdk = sdk;
    this.#client = client;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.name = `s3://${bucket}/${prefix}`.replace(/\/$/, "");
  }

  async list(prefix: string, signal?: AbortSignal): Promise<readonly FileInfo[]> {
    const found: FileInfo[] = [];
    let token: string | undefined;
    do {
      const page = await this.#do(prefix, signal, (abort) =>
        this.#client.send(
          new this.#sdk.ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: this.#prefix + prefix,
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
          abort,
        ),
      );
      for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
        const path = Key.slice(this.#prefix.length);
        // Some tools create empty objects that represent folders.
        if (path === "" || path.endsWith("/") || path.startsWith(`${temporaryFolder}/`)) continue;
        found.push({ path, bytes: Size, modifiedMs: LastModified?.getTime() ?? 0 });
      }
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return sortByPath(found);
  }

  async read(path: string, range?: ByteRange, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#do(path, signal, async (abort) => {
      const { Body } = await this.#client.send(
        new this.#sdk.GetObjectCommand({
          ...this.#at(path),
          ...(range === undefined ? {} : { Range: `bytes=${range.start}-${range.end - 1}` }),
        }),
        abort,
      );
      return (await Body?.transformToByteArray()) ?? new Uint8Array();
    });
  }

  async write(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    if (bytes.length > partBytes) return this.#writeParts(path, bytes, signal);
    await this.#do(path, signal, (abort) =>
      this.#client.send(
        new this.#sdk.PutObjectCommand({
          ...this.#at(path),
          Body: bytes,
          ContentLength: bytes.length,
        }),
        abort,
      ),
    );
  }

  async create(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<boolean> {
    return this.#do(path, signal, async (abort) => {
      try {
        await this.#client.send(
          new this.#sdk.PutObjectCommand({
            ...this.#at(path),
            Body: bytes,
            ContentLength: bytes.length,
            IfNoneMatch: "*",
          }),
          abort,
        );
        return true;
      } catch (thrown) {
        // 412: the object exists. 409: another request for the same name is in progress, and one of them wins.
        const { status } = factsOf(thrown);
        if (status === 412 || status === 409) return false;
        throw thrown;
      }
    });
  }

  async move(from: string, to: string, signal?: AbortSignal): Promise<void> {
    await this.#do(to, signal, async (abort) => {
      const { Bucket, Key } = this.#at(from);
      const CopySource = `${Bucket}/${Key.split("/").map(encodeURIComponent).join("/")}`;
      try {
        await this.#client.send(
          new this.#sdk.CopyObjectCommand({ ...this.#at(to), CopySource }),
          abort,
        );
      } catch (thrown) {
        const { name, status } = factsOf(thrown);
        if (name === "NoSuchKey" || (status === 404 && name !== "NoSuchBucket")) return;
        throw thrown;
      }
      await this.#client.send(new this.#sdk.DeleteObjectCommand({ Bucket, Key }), abort);
    });
  }

  async remove(path: string, signal?: AbortSignal): Promise<void> {
    await this.#do(path, signal, (abort) =>
      this.#client.send(new this.#sdk.DeleteObjectCommand(this.#at(path)), abort),
    );
  }

  close(): void {
    this.#client.destroy();
  }

  #at(path: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + checkPath(path) };
  }

  /** The object exists only once the last request was answered. */
  async #writeParts(
    path: string,
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await this.#do(path, signal, async (abort) => {
      const { UploadId } = await this.#client.send(
        new this.#sdk.CreateMultipartUploadCommand(this.#at(path)),
        abort,
      );
      const upload = { ...this.#at(path), UploadId };
      try {
        const parts: { PartNumber: number; ETag: string | undefined }[] = [];
        for (let start = 0; start < bytes.length; start += partBytes) {
          const PartNumber = parts.length + 1;
          const { ETag } = await this.#client.send(
            new this.#sdk.UploadPartCommand({
              ...upload,
              PartNumber,
              Body: bytes.subarray(start, start + partBytes),
            }),
            abort,
          );
          parts.push({ PartNumber, ETag });
        }
        await this.#client.send(
          new this.#sdk.CompleteMultipartUploadCommand({
            ...upload,
            MultipartUpload: { Parts: parts },
          }),
          abort,
        );
      } catch (thrown) {
        // Orphaned parts are billed until they are deleted.
        await this.#client
          .send(new this.#sdk.AbortMultipartUploadCommand(upload))
          .catch(() => undefined);
        throw thrown;
      }
    });
  }

  async #do<Result>(
    path: string,
    signal: AbortSignal | undefined,
    send: (options: { abortSignal?: AbortSignal }) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await send(signal === undefined ? {} : { abortSignal: signal });
    } catch (thrown) {
      if (signal?.aborted === true) throw thrown;
      throw this.#explain(thrown, path);
    }
  }

  #explain(thrown: unknown, path: string): FileStoreError {
    const { name, status } = factsOf(thrown);
    const place = `${this.name}/${path}`.replace(/\/$/, "");
    if (name === "NoSuchBucket")
      return new FileStoreError(
        "FILES_MISSING",
        `There is no bucket "${this.#bucket}": check the name, the region and the endpoint, or create it.`,
        thrown,
      );
    if (name === "NoSuchKey" || status === 404)
      return new FileStoreError("FILES_MISSING", `There is no object ${place}.`, thrown);
    if (/Credentials/.test(name))
      return new FileStoreError(
        "FILES_DENIED",
        `${this.name}: no credentials found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
        thrown,
      );
    if (
      /^(?:SignatureDoesNotMatch|InvalidAccessKeyId|ExpiredToken|InvalidToken|TokenRefreshRequired)$/.test(
        name,
      )
    )
      return new FileStoreError(
        "FILES_DENIED",
        `${this.name}: the credentials are wrong (${name}). Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.`,
        thrown,
      );
    if (status === 401 || status === 403)
      return new FileStoreError(
        "FILES_DENIED",
        `${place} is denied (${name}): the credentials need s3:ListBucket, GetObject, PutObject and DeleteObject there.`,
        thrown,
      );
    if (
      /QuotaExceeded|StorageFull|XMinioStorageFull|InsufficientStorage/.test(name) ||
      status === 507
    )
      return new FileStoreError("FILES_FULL", `No space is left for ${place}.`, thrown);
    if (status === undefined || status >= 500 || status === 429)
      return new FileStoreError(
        "FILES_UNREACHABLE",
        `${this.name} does not answer (${formatError(thrown) || name}): check the endpoint and that it can be reached.`,
        thrown,
      );
    return new FileStoreError("FILES_FAILED", `${place}: ${formatError(thrown)}.`, thrown);
  }
}

function factsOf(thrown: unknown): { name: string; status: number | undefined } {
  const { name = "", $metadata } = (thrown ?? {}) as {
    name?: string;
    $metadata?: { httpStatusCode?: number };
  };
  return { name, status: $metadata?.httpStatusCode };
}
