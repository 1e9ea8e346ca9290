/**
 * Tokens for SASL OAUTHBEARER: from a file that another program renews, or by OAuth 2.0's client credentials grant. Never printed.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { GpulseError, formatError } from "../../base/error.ts";
import { HttpClient } from "../http/client.ts";
import { Secret } from "../http/secret.ts";

/** Returns the token for the next login. Logins are repeated before the broker ends a session. */
export type ReadToken = () => Promise<string>;

/** No token is available at the moment; a retry may help. */
export class KafkaTokenError extends Error {}

export interface TokenOptions {
  readonly tokenFile: string | undefined;
  readonly tokenUrl: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly scope: string | undefined;
  /** CA certificates for the token server. */
  readonly caFile: string | undefined;
}

const mostTokenChars = 65_536;

export function tokenReader(options: TokenOptions): ReadToken {
  const { tokenFile, tokenUrl, clientId, clientSecret } = options;
  if ((tokenFile === undefined) === (tokenUrl === undefined))
    throw refuse("needs one of token_file= and token_url=");
  if (tokenFile !== undefined) return fileReader(path.resolve(tokenFile));
  if (clientId === undefined || clientSecret === undefined)
    throw refuse("by token_url= needs oauth_client_id= and oauth_client_secret=");
  return grantReader(tokenUrl ?? "", clientId, new Secret(clientSecret), options);
}

const refuse = (why: string): GpulseError =>
  new GpulseError("SOURCE_OPTIONS", `A login to Kafka with sasl=oauthbearer ${why}.`);

/** Reads the file for every login: a sidecar or the kubelet renews it. */
const fileReader =
  (file: string): ReadToken =>
  async () => {
    const text = await readFile(file, "utf8").catch((thrown: unknown) => {
      throw new KafkaTokenError(`${file} cannot be read: ${formatError(thrown)}`);
    });
    return checked(text.trim(), file);
  };

function grantReader(
  tokenUrl: string,
  clientId: string,
  clientSecret: Secret,
  { scope, caFile }: TokenOptions,
): ReadToken {
  if (!URL.canParse(tokenUrl) || !/^https?:$/.test(new URL(tokenUrl).protocol))
    throw refuse(`has token_url=${tokenUrl}, which is not an address`);
  const tls = {
    insecureSkipVerify: false,
    ...(caFile !== undefined && { caFile: path.resolve(caFile) }),
  };
  const client = new HttpClient({
    oauth2: {
      clientId,
      clientSecret,
      tokenUrl,
      scopes: scope?.split(/[\s,]+/).filter((one) => one !== "") ?? [],
      endpointParams: {},
      tls,
    },
    tls,
    followRedirects: false,
    headers: [],
  });
  return async () => {
    const options = await client.options().catch((thrown: unknown) => {
      throw new KafkaTokenError(formatError(thrown));
    });
    return checked((options.headers["authorization"] ?? "").replace(/^\S+ /, ""), tokenUrl);
  };
}

/** RFC 6750: a token is letters, digits and -._~+/=. */
function checked(token: string, from: string): string {
  if (token.length <= mostTokenChars && /^[\w\-.~+/]+=*$/.test(token)) return token;
  throw new KafkaTokenError(`${from} holds no token`);
}
