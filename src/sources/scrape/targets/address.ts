/** Host and port as addresses write them, IPv6 in brackets: split and joined as Go's net package does it. */

export const joinHostPort = (host: string, port: number | string): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** Host and port, or undefined where the text is not of the form `host:port` or `[host]:port`. */
export function splitHostPort(text: string): readonly [host: string, port: string] | undefined {
  const match = /^(?:\[([^\][]*)\]|([^:\][]*)):([^:\][]*)$/.exec(text);
  return match === null ? undefined : [match[1] ?? match[2] ?? "", match[3] ?? ""];
}

/** An address that would be one with a port, and has none. */
export const lacksPort = (text: string): boolean =>
  splitHostPort(text) === undefined && splitHostPort(`${text}:1234`) !== undefined;
