// Certificates for tests, created on demand and valid for an hour: a CA, and certificates that it signs. Plain DER, so that no
// tool is needed.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  readonly commonName: string;
  /** The names and addresses that it is valid for. */
  readonly names?: readonly string[];
  /** Milliseconds until it expires; an hour by default. */
  readonly validMs?: number;
}

export interface Authority {
  readonly cert: string;
  issue(options: CertificateOptions): Certificate;
}

const OID = {
  commonName: [0x55, 0x04, 0x03],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
  basicConstraints: [0x55, 0x1d, 0x13],
  subjectAltName: [0x55, 0x1d, 0x11],
  subjectKeyId: [0x55, 0x1d, 0x0e],
  authorityKeyId: [0x55, 0x1d, 0x23],
} as const;

/** Encodes tag, length, content. */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const size =
    body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content);
const oid = (bytes: readonly number[]): Buffer => der(0x06, Buffer.from(bytes));
const octets = (content: Uint8Array): Buffer => der(0x04, content);
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.from([0]), content);
const boolean = Buffer.from([0x01, 0x01, 0xff]);
const algorithm = sequence(oid(OID.ecdsaWithSha256));

const nameOf = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid(OID.commonName), der(0x0c, Buffer.from(commonName)))));

/** A UTCTime with a two-digit year: GeneralizedTime (`YYYYMMDDhhmmssZ`) is allowed only from 2050 on. */
const time = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replace(/[-T:]/g, "")}Z`));

const altName = (name: string): Buffer =>
  /^\d+(\.\d+){3}$/.test(name)
    ? der(0x87, Buffer.from(name.split(".").map(Number)))
    : der(0x82, Buffer.from(name));

const extension = (id: readonly number[], value: Buffer, critical = false): Buffer =>
  sequence(oid(id), ...(critical ? [boolean] : []), octets(value));

interface Signer {
  readonly name: Buffer;
  readonly key: KeyObject;
  readonly keyId: Buffer;
}

function make(options: CertificateOptions, issuer: Signer | undefined) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  const keyId = createHash("sha1").update(spki).digest();
  const name = nameOf(options.commonName);
  const by = issuer ?? { name, key: privateKey, keyId };
  const nowMs = Date.now();
  const serial = randomBytes(8);
  serial[0] = 0x01;
  const extensions = [
    extension(OID.basicConstraints, sequence(...(issuer === undefined ? [boolean] : [])), true),
    extension(OID.subjectKeyId, octets(keyId)),
    extension(OID.authorityKeyId, sequence(der(0x80, by.keyId))),
    ...(options.names === undefined
      ? []
      : [extension(OID.subjectAltName, sequence(...options.names.map(altName)))]),
  ];
  const body = sequence(
    der(0xa0, Buffer.from([0x02, 0x01, 0x02])),
    der(0x02, serial),
    algorithm,
    by.name,
    sequence(time(nowMs - 3_600_000), time(nowMs + (options.validMs ?? 3_600_000))),
    name,
    spki,
    der(0xa3, sequence(...extensions)),
  );
  const signed = sequence(body, algorithm, bits(sign("sha256", body, by.key)));
  const lines = signed.toString("base64").replace(/.{1,64}/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    signer: { name, key: privateKey, keyId },
  };
}

export function makeAuthority(commonName: string, validMs = 3_600_000): Authority {
  const { cert, signer } = make({ commonName, validMs }, undefined);
  return {
    cert,
    issue: (options) => {
      const made = make(options, signer);
      return { cert: made.cert, key: made.key };
    },
  };
}

/** Writes NAME.pem and NAME.key into a folder and returns their paths. */
export function writeCertificate(dir: string, name: string, { cert, key }: Certificate) {
  mkdirSync(dir, { recursive: true });
  const files = { cert: path.join(dir, `${name}.pem`), key: path.join(dir, `${name}.key`) };
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key, { mode: 0o600 });
  return files;
}
