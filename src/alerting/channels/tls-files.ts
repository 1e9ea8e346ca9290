/**
 * TLS options of a non-HTTP connection. The files are read again for each connection, so that a renewed certificate takes effect.
 */
import type { ConnectionOptions } from "node:tls";
import { formatError } from "../../base/error.ts";
import { NotifyError } from "../route/notification.ts";
import { ReloadingFile } from "../../net/http/reloading-file.ts";
import type { TlsConfig } from "../../net/http/auth-config.ts";

export async function tlsOptions(tls: TlsConfig): Promise<ConnectionOptions> {
  const [ca, cert, key] = await Promise.all([
    textOf("the CA", tls.ca, tls.caFile),
    textOf("the certificate", tls.cert, tls.certFile),
    textOf("the key", tls.key?.reveal(), tls.keyFile),
  ]);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(tls.insecureSkipVerify ? { rejectUnauthorized: false } : {}),
    ...(tls.minVersion === undefined ? {} : { minVersion: tls.minVersion }),
    ...(tls.maxVersion === undefined ? {} : { maxVersion: tls.maxVersion }),
  };
}

async function textOf(
  what: string,
  text: string | undefined,
  file: string | undefined,
): Promise<string | undefined> {
  if (text !== undefined || file === undefined) return text;
  try {
    return await new ReloadingFile(file, what).text();
  } catch (thrown) {
    throw new NotifyError(formatError(thrown), { retryable: true });
  }
}
