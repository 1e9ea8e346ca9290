/** TLS of our own servers: certificate, key and client authentication. Errors name a key's file, never its content. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Server } from "node:https";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";

/** Go's names, which Prometheus's web configuration file uses. */
export const clientAuthTypes = [
  "NoClientCert",
  "RequestClientCert",
  "RequireAnyClientCert",
  "VerifyClientCertIfGiven",
  "RequireAndVerifyClientCert",
] as const;
export type ClientAuthType = (typeof clientAuthTypes)[number];

export interface ServerTls {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string;
  readonly clientAuth: ClientAuthType;
  /** A client's certificate must have one of these names. */
  readonly clientAllowedSans?: readonly string[];
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
  readonly maxVersion?: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's names, separated by colons. */
  readonly ciphers?: string;
  readonly curves?: string;
}

/** The files' content, validated. */
export interface LoadedTls {
  readonly context: SecureContextOptions;
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
  readonly expiresMs: number;
}

export function loadServerTls(tls: ServerTls): LoadedTls {
  const cert = readPem("certificate", tls.certFile);
  const key = readPem("key", tls.keyFile);
  const ca = tls.clientCaFile === undefined ? undefined : readPem("client CA", tls.clientCaFile);
  const context: SecureContextOptions = {
    cert,
    key,
    ...(ca === undefined ? {} : { ca }),
    minVersion: tls.minVersion ?? "TLSv1.2",
    ...(tls.maxVersion === undefined ? {} : { maxVersion: tls.maxVersion }),
    ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
    ...(tls.curves === undefined ? {} : { ecdhCurve: tls.curves }),
  };
  const certificate = readCertificate(tls, cert, key);
  try {
    process.getBuiltinModule("node:tls").createSecureContext(context);
  } catch (thrown) {
    throw new GpulseError("TLS_FILES", `TLS cannot be set up: ${formatError(thrown)}.`, {
      cause: thrown,
    });
  }
  return {
    context,
    requestCert: tls.clientAuth !== "NoClientCert",
    // The other types accept an untrusted certificate in the handshake; guardClients checks it afterwards.
    rejectUnauthorized: tls.clientAuth === "RequireAndVerifyClientCert",
    expiresMs: Date.parse(certificate.validTo),
  };
}

function readPem(what: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (thrown) {
    const code = systemCode(thrown);
    const why =
      code === "ENOENT" ? "does not exist" : `cannot be read (${code ?? formatError(thrown)})`;
    throw new GpulseError("TLS_FILES", `The TLS ${what} ${file} ${why}.`, { cause: thrown });
  }
  if (!text.includes("-----BEGIN "))
    throw new GpulseError("TLS_FILES", `The TLS ${what} ${file} is not a PEM file.`);
  return text;
}

function readCertificate(tls: ServerTls, cert: string, key: string): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (thrown) {
    throw new GpulseError("TLS_FILES", `${tls.certFile} holds no certificate.`, { cause: thrown });
  }
  let belongs: boolean;
  try {
    belongs = certificate.checkPrivateKey(createPrivateKey(key));
  } catch (thrown) {
    // OpenSSL's message could quote the key, so ours leaves it out.
    throw new GpulseError("TLS_FILES", `${tls.keyFile} holds no private key without a password.`, {
      cause: thrown,
    });
  }
  if (!belongs)
    throw new GpulseError(
      "TLS_FILES",
      `${tls.keyFile} is not the key of the certificate in ${tls.certFile}.`,
    );
  return certificate;
}

/** Closes connections whose certificate passed the handshake but violates the settings. */
export function guardClients(
  server: Server,
  tls: () => ServerTls | undefined,
  onRejected: (address: string | undefined, refusal: string) => void,
): void {
  server.on("secureConnection", (socket: TLSSocket) => {
    const now = tls();
    const refusal = now === undefined ? undefined : refusalOf(socket, now);
    if (refusal === undefined) return;
    onRejected(socket.remoteAddress, refusal);
    socket.destroy(new Error(refusal));
  });
}

function refusalOf(socket: TLSSocket, tls: ServerTls): string | undefined {
  if (tls.clientAuth === "NoClientCert" || tls.clientAuth === "RequestClientCert") return undefined;
  const peer = socket.getPeerX509Certificate();
  if (peer === undefined)
    return tls.clientAuth === "VerifyClientCertIfGiven" ? undefined : "no client certificate";
  if (tls.clientAuth !== "RequireAnyClientCert" && !socket.authorized)
    return "the client certificate is signed by none of the client CAs";
  const allowed = tls.clientAllowedSans;
  if (allowed === undefined) return undefined;
  return sansOf(peer).some((name) => allowed.includes(name))
    ? undefined
    : "the client certificate has none of the allowed names";
}

/** Returns only the names of `DNS:a.example, IP Address:10.0.0.1`. */
function sansOf(certificate: Pick<X509Certificate, "subjectAltName">): string[] {
  return (certificate.subjectAltName ?? "")
    .split(/,\s*/)
    .map((entry) => entry.replace(/^(?:DNS|IP Address|URI|email):/, ""))
    .filter((name) => name !== "");
}
