/**
 * Finds Amazon credentials as Amazon's own tools do: in a profile of the shared credentials file, or in the environment. Does not
 * query instance and container metadata, SSO or web identities.
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import type { Env } from "../../config/secrets.ts";
import type { AwsCredentials } from "./sigv4.ts";

/**
 * Undefined if there are no credentials.
 * @param profile AWS_PROFILE if absent or empty
 * @throws if the file with the profile cannot be read
 */
export async function findAwsCredentials(
  env: Env,
  profile?: string,
): Promise<AwsCredentials | undefined> {
  const name = profile || env["AWS_PROFILE"] || "";
  const found =
    name === ""
      ? {
          aws_access_key_id: env["AWS_ACCESS_KEY_ID"],
          aws_secret_access_key: env["AWS_SECRET_ACCESS_KEY"],
          aws_session_token: env["AWS_SESSION_TOKEN"],
        }
      : await profileOf(name, env);
  const {
    aws_access_key_id: accessKey,
    aws_secret_access_key: secretKey,
    aws_session_token: sessionToken,
  } = found;
  if (accessKey === undefined || secretKey === undefined) return undefined;
  return { accessKey, secretKey, ...(sessionToken !== undefined && { sessionToken }) };
}

/** Parses a section of `~/.aws/credentials`: `[name]`, then one `key = value` per line. */
async function profileOf(
  profile: string,
  env: Env,
): Promise<Readonly<Record<string, string | undefined>>> {
  const file =
    env["AWS_SHARED_CREDENTIALS_FILE"] ?? path.join(env["HOME"] ?? homedir(), ".aws/credentials");
  const text = await readFile(file, "utf8");
  const found: Record<string, string> = {};
  let section = "";
  for (const line of text.split(/\r?\n/)) {
    section = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)?.[1] ?? section;
    const [, key, value] = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section === profile && key !== undefined && value !== undefined) found[key] = value;
  }
  return found;
}

/** China has its own domain. */
export const amazonDomain = (region: string): string =>
  region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
