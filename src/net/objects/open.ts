/** Opens the file store of an address: a folder, `s3://bucket/prefix?endpoint=…`, or `webhdfs://host:port/path?user=…`. */
import type { Env } from "../../config/secrets.ts";
import { fileURLToPath } from "node:url";
import { FolderFiles } from "./folder.ts";
import { type FileStore, FileStoreError } from "./store.ts";

/** Secrets come from the environment variables of S3 tools, never from the address. */
export async function openFiles(address: string, env: Env): Promise<FileStore> {
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(address)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return new FolderFiles(address);
    case "file":
      return new FolderFiles(fileURLToPath(address));
    case "s3": {
      const { openS3 } = await import("./s3.ts");
      return openS3(address, env);
    }
    case "webhdfs":
    case "swebhdfs": {
      const { openWebHdfs } = await import("./webhdfs.ts");
      return openWebHdfs(address, env);
    }
    default:
      throw new FileStoreError(
        "FILES_ADDRESS",
        `"${scheme}://" is not a file location: pass a folder, s3://BUCKET/PREFIX or webhdfs://HOST:PORT/PATH.`,
      );
  }
}

/** Builds the address for `openFiles` from the parsed URL of a source or sink. */
export function addressOf(
  scheme: string,
  place: string,
  options: Readonly<Record<string, string | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(options))
    if (value !== undefined) query.set(key, value);
  const text = query.toString();
  return `${scheme}:${encodeURI(place)}${text === "" ? "" : `?${text}`}`;
}

/** Splits an address from its query; an unknown option is an error. */
export function parseAddress(
  address: string,
  takes: readonly string[],
): { readonly url: URL; readonly options: Readonly<Record<string, string>> } {
  let url: URL;
  try {
    url = new URL(address);
  } catch (thrown) {
    throw new FileStoreError(
      "FILES_ADDRESS",
      `"${withoutUser(address)}" is not an address.`,
      thrown,
    );
  }
  if (url.password !== "")
    throw new FileStoreError(
      "FILES_ADDRESS",
      `${withoutUser(address)}: an address carries no password, it would show in logs and process lists.`,
    );
  const options = Object.fromEntries(url.searchParams);
  const unknown = Object.keys(options).find((key) => !takes.includes(key));
  if (unknown !== undefined)
    throw new FileStoreError(
      "FILES_ADDRESS",
      `${url.protocol}//… takes no option "${unknown}". It takes: ${takes.join(", ")}.`,
    );
  return { url, options };
}

const withoutUser = (address: string): string => address.replace(/\/\/[^/?@]*@/, "//…@");
