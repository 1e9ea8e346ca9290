/** The sender of a request and its state: the first record of every request. */
import { ByteReader, ByteWriter, FramesError, limits } from "./bytes.ts";

export interface Hello {
  /** The agent's name at the hub; its instance by default. */
  readonly agent: string;
  /** Sequence numbers increase within a session; a new spool starts a new session. */
  readonly session: string;
  readonly version: string;
  readonly host: string;
  readonly job: string;
  readonly instance: string;
  readonly sentMs: number;
  /** Round trip of the previous request; absent on the first. */
  readonly roundTripMs?: number;
  /** The interval at which the hub may expect requests. */
  readonly intervalMs: number;
  readonly spool: { readonly records: number; readonly bytes: number; readonly lost: number };
  /** Optional features of the sender beyond this version of the format. */
  readonly capabilities: readonly string[];
}

export function encodeHello(hello: Hello): Buffer {
  const bytes = new ByteWriter();
  for (const text of [
    hello.agent,
    hello.session,
    hello.version,
    hello.host,
    hello.job,
    hello.instance,
  ])
    bytes.text(text);
  bytes.varint(Math.round(hello.sentMs));
  bytes.varint(hello.roundTripMs === undefined ? 0 : Math.round(hello.roundTripMs) + 1);
  bytes.varint(Math.round(hello.intervalMs));
  for (const count of [hello.spool.records, hello.spool.bytes, hello.spool.lost])
    bytes.varint(count);
  bytes.varint(hello.capabilities.length);
  for (const capability of hello.capabilities) bytes.text(capability);
  return bytes.finish();
}

type HelloNames = Pick<Hello, "agent" | "session" | "version" | "host" | "job" | "instance">;

const nameFields = [
  "the agent's name",
  "the session",
  "the version",
  "the host",
  "the job",
  "the instance",
] as const;
/** Cached by their bytes: an agent sends the same names with every request. */
const knownNames = new Map<string, HelloNames>();
const maxKnownNames = 20_000;

function readNames(reader: ByteReader): HelloNames {
  const from = reader.position;
  for (const _ of nameFields) reader.skipText(limits.nameBytes);
  const key = reader.latin1(from);
  const known = knownNames.get(key);
  if (known !== undefined) return known;
  reader.position = from;
  const name = (what: string): string => {
    const text = reader.text(limits.nameBytes);
    if (!/^[\x20-\x7e\u00a0-\uffff]{1,255}$/.test(text))
      throw new FramesError(`${what} is empty, too long or not plain text`);
    return text;
  };
  const [agent = "", session = "", version = "", host = "", job = "", instance = ""] =
    nameFields.map(name);
  const names = { agent, session, version, host, job, instance };
  if (knownNames.size >= maxKnownNames) knownNames.clear();
  knownNames.set(key, names);
  return names;
}

/** Fields after the known ones come from a newer agent and are ignored. @throws FramesError */
export function decodeHello(content: Uint8Array): Hello {
  const reader = new ByteReader(content);
  const { agent, session, version, host, job, instance } = readNames(reader);
  const sentMs = reader.varint();
  const roundTrip = reader.varint();
  const intervalMs = reader.varint();
  const [records, bytes, lost] = [reader.varint(), reader.varint(), reader.varint()];
  const capabilities = Array.from(
    { length: reader.count("capabilities", limits.capabilities, 1) },
    () => reader.text(limits.nameBytes),
  );
  return {
    agent,
    session,
    version,
    host,
    job,
    instance,
    sentMs,
    ...(roundTrip === 0 ? {} : { roundTripMs: roundTrip - 1 }),
    intervalMs,
    spool: { records, bytes, lost },
    capabilities,
  };
}
