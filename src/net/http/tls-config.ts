/** TLS towards a peer as a Prometheus configuration file says it (`tls_config`). Paths are absolute. */
import type { Secret } from "./secret.ts";

export const tlsVersions = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"] as const;

export interface TlsConfig {
  /** PEM text, or where it stands; never both. */
  readonly ca?: string;
  readonly caFile?: string;
  readonly cert?: string;
  readonly certFile?: string;
  readonly key?: Secret;
  readonly keyFile?: string;
  readonly serverName?: string;
  readonly insecureSkipVerify: boolean;
  readonly minVersion?: (typeof tlsVersions)[number];
  readonly maxVersion?: (typeof tlsVersions)[number];
}
