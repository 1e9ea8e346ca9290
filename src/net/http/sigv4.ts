/**
 * Signs a request with AWS Signature Version 4:
 *   string to sign = "AWS4-HMAC-SHA256" \n date \n scope \n sha256(canonical request)
 *   canonical request = method \n path \n query \n headers \n\n signed header names \n sha256(body)
 */
import { createHash, createHmac } from "node:crypto";

export interface AwsCredentials {
  readonly accessKey: string;
  readonly secretKey: string;
  /** Only for credentials that expire. */
  readonly sessionToken?: string;
}

export interface SignedRequest {
  readonly method: string;
  readonly url: string;
  /** Lower-case names; all of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly region: string;
  readonly service: string;
  readonly nowMs: number;
}

/** The headers to send: the given headers and those with the signature. */
export function signedHeaders(
  request: SignedRequest,
  credentials: AwsCredentials,
): Record<string, string> {
  const { method, body, region, service } = request;
  const url = new URL(request.url);
  const dateTime = new Date(request.nowMs).toISOString().replace(/-|:|\.\d{3}/g, "");
  const date = dateTime.slice(0, 8);
  const headers: Record<string, string> = {
    ...request.headers,
    host: url.host,
    "x-amz-date": dateTime,
    ...(credentials.sessionToken === undefined
      ? {}
      : { "x-amz-security-token": credentials.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    method,
    canonicalPath(url.pathname),
    canonicalQuery(url.searchParams),
    ...names.map((name) => `${name}:${(headers[name] ?? "").trim().replace(/ +/g, " ")}`),
    "",
    names.join(";"),
    sha256(body),
  ].join("\n");
  const scope = `${date}/${region}/${service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", dateTime, scope, sha256(canonical)].join("\n");
  const key = [date, region, service, "aws4_request"].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${credentials.secretKey}`,
  );
  const signature = hmac(key, toSign).toString("hex");
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKey}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
  };
}

const sha256 = (content: string | Uint8Array): string =>
  createHash("sha256").update(content).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();

/** Percent-encodes as in RFC 3986, including the characters that encodeURIComponent does not escape. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Escaped twice, as every service except S3 requires: the path of a URL is already escaped once. */
const canonicalPath = (pathname: string): string =>
  pathname === "" ? "/" : pathname.split("/").map(encoded).join("/");

const canonicalQuery = (parameters: URLSearchParams): string =>
  [...parameters]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
