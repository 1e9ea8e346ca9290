/**
 * As much of the protobuf wire format as the kubelet's answer needs: a message is a run of fields, each a varint tag
 * (number << 3 | type) and a value: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes. Unknown fields are passed over.
 */

/** Bytes that are no message of this format. */
export class WireError extends Error {}

export interface ProtoField {
  readonly number: number;
  /** Only fields of type 2 (text, bytes, messages) carry something we read. */
  readonly bytes: Uint8Array | undefined;
}

export function* fields(message: Uint8Array): Generator<ProtoField> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = message[at++];
      if (byte === undefined) throw new WireError("a number is cut off");
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw new WireError("a number is longer than ten bytes");
  };
  const skip = (length: number): Uint8Array => {
    if (!(length <= message.length - at)) throw new WireError("a field is cut off");
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    if (number === 0 || number > 0x1fffffff) throw new WireError("a field has no number");
    switch (tag % 8) {
      case 0:
        varint();
        yield { number, bytes: undefined };
        break;
      case 1:
        skip(8);
        yield { number, bytes: undefined };
        break;
      case 2:
        yield { number, bytes: skip(varint()) };
        break;
      case 5:
        skip(4);
        yield { number, bytes: undefined };
        break;
      default:
        throw new WireError(`a field has the unknown type ${tag % 8}`);
    }
  }
}

const utf8 = new TextDecoder("utf-8");

export const textOf = (bytes: Uint8Array): string => utf8.decode(bytes);
