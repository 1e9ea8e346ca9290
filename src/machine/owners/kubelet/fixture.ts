/** A small kubelet for tests: writes the protobuf answer, and serves it over HTTP/2 on a unix socket as gRPC does. */
import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { rmSync } from "node:fs";

export interface FakePod {
  readonly pod: string;
  readonly namespace: string;
  readonly containers: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

const field = (number: number, content: Buffer | string): Buffer => {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
};

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

export function encodePodResources(pods: readonly FakePod[]): Buffer {
  return Buffer.concat(
    pods.map(({ pod, namespace, containers }) =>
      field(
        1,
        Buffer.concat([
          field(1, pod),
          field(2, namespace),
          ...Object.entries(containers).map(([name, devices]) =>
            field(
              3,
              Buffer.concat([field(1, name), ...Object.entries(devices).map(encodeDevices)]),
            ),
          ),
        ]),
      ),
    ),
  );
}

/** The resource `claim` stands for dynamic allocation, whose devices have CDI names. */
function encodeDevices([resource, ids]: readonly [string, readonly string[]]): Buffer {
  if (resource === "claim")
    return field(5, Buffer.concat(ids.map((id) => field(4, field(1, field(1, id))))));
  // The NUMA topology (field 3) and the processor ids (a packed varint list) are passed over by a reader.
  return field(
    2,
    Buffer.concat([
      field(1, resource),
      ...ids.map((id) => field(2, id)),
      field(3, field(1, "\u0008\u0001")),
    ]),
  );
}

export type Reply = (stream: ServerHttp2Stream, path: string) => void;

/** Answers with the message and status 0. */
export const replyWith =
  (message: Buffer): Reply =>
  (stream) => {
    stream.respond(
      { ":status": 200, "content-type": "application/grpc" },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([prefix, message]));
  };

/** An error without a body, as gRPC sends it: headers alone. */
export const replyStatus =
  (status: number): Reply =>
  (stream) =>
    stream.respond(
      { ":status": 200, "grpc-status": String(status), "grpc-message": "no" },
      { endStream: true },
    );

export interface FakeKubelet {
  readonly asked: string[];
  reply: Reply;
  close(): Promise<void>;
}

export async function startKubelet(socket: string, reply: Reply): Promise<FakeKubelet> {
  const sessions = new Set<ServerHttp2Session>();
  const server: Http2Server = createServer();
  const kubelet: FakeKubelet = {
    asked: [],
    reply,
    close: () =>
      new Promise((resolve) => {
        for (const session of sessions) session.destroy();
        server.close(() => {
          rmSync(socket, { force: true });
          resolve();
        });
      }),
  };
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
  });
  server.on("stream", (stream, headers) => {
    const path = headers[":path"] ?? "";
    kubelet.asked.push(path);
    stream.on("error", () => {});
    stream.resume().on("end", () => kubelet.reply(stream, path));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return kubelet;
}
