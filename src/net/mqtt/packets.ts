/**
 * The MQTT 3.1.1 packets that a publisher needs. Pure: bytes in, bytes out.
 *
 * A packet is one byte of type and flags, the length of the body as a varint of one to four bytes (seven bits each, lowest
 * first), and the body. A string is two bytes of length and UTF-8.
 */

export interface ConnectFields {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly keepAliveSeconds: number;
  /** The retained message that the broker publishes when the connection is lost. */
  readonly will?: { readonly topic: string; readonly payload: string };
}

export interface PublishFields {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly packetId: number;
  readonly retain: boolean;
}

export interface Packet {
  readonly type: number;
  readonly body: Buffer;
}

export const packetType = { connack: 2, puback: 4, pingresp: 13 } as const;
export const ping = Buffer.from([0xc0, 0x00]);
export const disconnect = Buffer.from([0xe0, 0x00]);
/** CONNACK and PUBACK have a body of two bytes; a longer one belongs to another protocol. */
const maxBodyBytes = 1_024;

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value, "utf8");
  if (bytes.length > 0xff_ff) throw new RangeError("an MQTT string exceeds 65,535 bytes");
  return Buffer.concat([twoBytes(bytes.length), bytes]);
};

const twoBytes = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);

function packet(first: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const length: number[] = [];
  for (let rest = body.length; ;) {
    const digit = rest % 128;
    rest = Math.floor(rest / 128);
    length.push(rest > 0 ? digit | 0x80 : digit);
    if (rest === 0) break;
  }
  if (length.length > 4) throw new RangeError("an MQTT message exceeds 256 MB");
  return Buffer.concat([Buffer.from([first, ...length]), body]);
}

/** A clean session: the broker forgets it when the connection ends. */
export function connectPacket(connect: ConnectFields): Buffer {
  const { clientId, username, password, keepAliveSeconds, will } = connect;
  const flags =
    0x02 |
    (username === undefined ? 0 : 0x80) |
    (password === undefined ? 0 : 0x40) |
    // A will with QoS 1, retained.
    (will === undefined ? 0 : 0x04 | 0x08 | 0x20);
  return packet(
    0x10,
    text("MQTT"),
    Buffer.from([4, flags]),
    twoBytes(keepAliveSeconds),
    text(clientId),
    ...(will === undefined ? [] : [text(will.topic), text(will.payload)]),
    ...(username === undefined ? [] : [text(username)]),
    ...(password === undefined ? [] : [text(password)]),
  );
}

/** QoS 1: the broker acknowledges with PUBACK. */
export function publishPacket({ topic, payload, packetId, retain }: PublishFields): Buffer {
  return packet(0x32 | (retain ? 1 : 0), text(topic), twoBytes(packetId), payload);
}

/** The first packet in `bytes` and its length; undefined while it is incomplete. */
export function readPacket(bytes: Buffer): { packet: Packet; length: number } | undefined {
  let size = 0;
  for (let at = 1; at <= 4; at++) {
    const digit = bytes[at];
    if (digit === undefined) return undefined;
    size += (digit & 0x7f) * 128 ** (at - 1);
    if (size > maxBodyBytes) throw new RangeError("the response is not MQTT");
    if ((digit & 0x80) !== 0) continue;
    const length = at + 1 + size;
    if (bytes.length < length) return undefined;
    return {
      packet: { type: (bytes[0] ?? 0) >> 4, body: bytes.subarray(at + 1, length) },
      length,
    };
  }
  throw new RangeError("the response is not MQTT");
}

/** True if a topic is valid for publishing: not empty, at most 65,535 bytes, without wildcards and control characters. */
export const isTopic = (topic: string): boolean =>
  topic !== "" && !/[+#\p{Cc}\p{Cs}]/u.test(topic) && Buffer.byteLength(topic) <= 0xff_ff;
