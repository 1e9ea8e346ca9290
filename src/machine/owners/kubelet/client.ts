/**
 * Requests from the kubelet, over its unix socket, which container holds which device. One gRPC call: an HTTP/2 POST whose body
 * is a byte 0, four bytes of length and the message, and whose status is in the trailer grpc-status. Bounded in time and size;
 * the connection is not kept open, since the kubelet may be replaced at any moment.
 */
import { once } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import { connect } from "node:net";

export const kubeletSocket = "/var/lib/kubelet/pod-resources/kubelet.sock";

/** The kubelet's own limit for this response. */
const mostBytes = 16 * 1_048_576;
const unimplemented = 12;
const deadlineSteps = 20;

export interface ListPodResourcesOptions {
  readonly socket: string;
  readonly deadlineMs: number;
}

/**
 * Returns the response's bytes; rejects with one sentence. Kubelets before 1.20 support only v1alpha1, whose first fields are the same.
 */
export async function listPodResources(options: ListPodResourcesOptions): Promise<Uint8Array> {
  const newer = await call(options, "/v1.PodResourcesLister/List");
  if (newer.status !== unimplemented) return bodyOf(newer);
  return bodyOf(await call(options, "/v1alpha1.PodResourcesLister/List"));
}

interface GrpcResponse {
  readonly status: number;
  readonly message: string;
  readonly body: Buffer;
}

function bodyOf({ status, message, body }: GrpcResponse): Uint8Array {
  if (status !== 0)
    throw new Error(`the kubelet answered with grpc status ${status} ${message}`.trim());
  if (body.length < 5) throw new Error("the kubelet's answer is empty");
  const length = body.readUInt32BE(1);
  if (body[0] !== 0) throw new Error("the kubelet's response is compressed without request");
  if (body.length < 5 + length) throw new Error("the kubelet's answer is cut off");
  return body.subarray(5, 5 + length);
}

async function call(
  { socket, deadlineMs }: ListPodResourcesOptions,
  path: string,
): Promise<GrpcResponse> {
  let session: ClientHttp2Session | undefined;
  // Connect before HTTP/2, whose session hides why its socket could not be opened.
  const connection = connect(socket);
  let timer: NodeJS.Timeout | undefined;
  // The deadline is checked in steps: an agent that got no processor time for a while reads the waiting response first, instead
  // of timing out.
  const deadline = new Promise<never>((_, reject) => {
    let steps = 0;
    timer = setInterval(() => {
      if (++steps < deadlineSteps) return;
      reject(new Error(`the kubelet did not answer within ${deadlineMs} ms`));
    }, deadlineMs / deadlineSteps);
  });
  const answer = async (): Promise<GrpcResponse> => {
    await once(connection, "connect");
    // Load HTTP/2 only on machines with a kubelet, since it takes megabytes.
    const http2 = await import("node:http2");
    session = http2.connect("http://localhost", { createConnection: () => connection });
    const open = session;
    return new Promise((resolve, reject) => {
      open.once("error", reject);
      request(open, path, deadlineMs, resolve, reject);
    });
  };
  try {
    return await Promise.race([answer(), deadline]);
  } finally {
    clearInterval(timer);
    // Ignore late errors of the connection being closed.
    session?.on("error", () => {}).destroy();
    connection.on("error", () => {}).destroy();
  }
}

function request(
  session: ClientHttp2Session,
  path: string,
  deadlineMs: number,
  resolve: (answer: GrpcResponse) => void,
  reject: (error: Error) => void,
): void {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    "grpc-timeout": `${deadlineMs}m`,
  });
  const pieces: Buffer[] = [];
  let size = 0;
  let outcome: { status: number; message: string } | undefined;
  const read = (headers: Readonly<Record<string, unknown>>): void => {
    const status = headers["grpc-status"];
    if (typeof status !== "string") return;
    const message = headers["grpc-message"];
    outcome = {
      status: Number(status),
      message: typeof message === "string" ? message.slice(0, 200) : "",
    };
  };
  stream.on("response", (headers) => {
    // An error response may consist of headers only, without body or trailers.
    read(headers);
    const { ":status": status = 0 } = headers;
    if (status !== 200) reject(new Error(`the kubelet's socket answered with HTTP ${status}`));
  });
  stream.on("trailers", read);
  stream.on("data", (piece: Buffer) => {
    size += piece.length;
    if (size > mostBytes) reject(new Error("the kubelet's answer is larger than 16 MiB"));
    else pieces.push(piece);
  });
  stream.once("error", reject);
  stream.once("close", () => reject(new Error("the kubelet closed the connection")));
  stream.once("end", () =>
    outcome === undefined
      ? reject(new Error("the kubelet's answer ended without its status"))
      : resolve({ ...outcome, body: Buffer.concat(pieces) }),
  );
  // The request message has no fields, so it is empty.
  stream.end(Buffer.alloc(5));
}
