// The kubelet's side of the device plugin API (pkg deviceplugin/v1beta1), to run a real plugin:
//   RegisterRequest      { string version = 1; string endpoint = 2; string resource_name = 3; }
//   ListAndWatchResponse { repeated Device devices = 1 { string ID = 1; string health = 2; } }
//   AllocateRequest      { repeated ContainerAllocateRequest container_requests = 1 { repeated string devices_ids = 1; } }
//   AllocateResponse     { repeated ContainerAllocateResponse container_responses = 1 { map<string, string> envs = 1; } }

import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { createConnection } from "node:net";
import path from "node:path";

import { startDevicePlugin } from "../../engines/device-plugin.ts";
import { waitUntil } from "../../engines/wait.ts";
import { ProtoReader } from "../../src/formats/protobuf/reader.ts";
import { field, grpcFrame, replyWith, startKubelet } from "../fixtures/machine/owners-kubelet.ts";

const START_TIMEOUT_MS = 60_000;
const UNHEALTHY = "Unhealthy";

export interface PluginOptions {
  readonly folder: string;
  readonly library: string;
  readonly migMinors?: readonly string[];
  readonly config?: string;
  readonly args?: readonly string[];
}

export interface RegisteredPlugin {
  readonly resource: string;
  /** The healthy devices in its first list. */
  readonly devices: readonly string[];
  /** The plugin's NVIDIA_VISIBLE_DEVICES for the container of a pod that is allocated the device. */
  allocate(device: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts the plugin and a kubelet that accepts its registration and its list. */
export async function startRegisteredPlugin(options: PluginOptions): Promise<RegisteredPlugin> {
  const { folder, ...node } = options;
  const kubelet = path.join(folder, "device-plugins");
  mkdirSync(kubelet);
  let registration: { readonly endpoint: string; readonly resource: string } | undefined;
  const registry = await startKubelet(path.join(kubelet, "kubelet.sock"), (stream, at, message) => {
    if (at === "/v1beta1.Registration/Register") {
      const [endpoint = "", resource = ""] = [texts(message, 2)[0], texts(message, 3)[0]];
      registration = { endpoint, resource };
    }
    replyWith(Buffer.alloc(0))(stream, at, message);
  });
  const closing: (() => Promise<unknown> | void)[] = [() => registry.close()];
  const close = async (): Promise<void> => {
    for (const one of closing.toReversed()) await one();
  };
  try {
    const plugin = await startDevicePlugin({ ...node, folder, kubelet });
    closing.push(() => plugin.stop());
    const what = {
      what: "the device plugin to register",
      timeoutMs: START_TIMEOUT_MS,
      giveUp: () => (plugin.exited() === undefined ? undefined : plugin.output().slice(-2_000)),
    };
    const { endpoint, resource } = await waitUntil(what, async () => registration);
    const connection = createConnection(path.join(kubelet, endpoint));
    const session = connect("http://localhost", { createConnection: () => connection });
    session.on("error", () => {});
    closing.push(() => session.destroy());
    const list = await firstMessage(session, "ListAndWatch", Buffer.alloc(0));
    const devices = messages(list, 1)
      .filter((device) => texts(device, 2)[0] !== UNHEALTHY)
      .map((device) => texts(device, 1)[0] ?? "");
    return {
      resource,
      devices,
      allocate: async (device) => {
        const answer = await firstMessage(session, "Allocate", field(1, field(1, device)));
        const [container = Buffer.alloc(0)] = messages(answer, 1);
        const environment = new Map(
          messages(container, 1).map((entry) => [texts(entry, 1)[0], texts(entry, 2)[0] ?? ""]),
        );
        return environment.get("NVIDIA_VISIBLE_DEVICES") ?? "";
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The first message of the response; a stream that continues, like the plugin's list, stays open. */
async function firstMessage(
  session: ClientHttp2Session,
  method: string,
  message: Buffer,
): Promise<Buffer> {
  const stream = session.request({
    ":method": "POST",
    ":path": `/v1beta1.DevicePlugin/${method}`,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  stream.end(grpcFrame(message));
  let received = Buffer.alloc(0);
  while (received.length < 5 || received.length < 5 + received.readUInt32BE(1)) {
    const [piece] = (await Promise.race([once(stream, "data"), once(stream, "end")])) as [Buffer?];
    if (piece === undefined) throw new Error(`${method}: the plugin gave no message`);
    received = Buffer.concat([received, piece]);
  }
  stream.resume();
  return received.subarray(5, 5 + received.readUInt32BE(1));
}

function messages(message: Buffer, wanted: number): readonly Buffer[] {
  const found: Buffer[] = [];
  const reader = new ProtoReader(message, 0, message.length);
  while (reader.next()) {
    if (reader.field === wanted && reader.wireType === 2) {
      const end = reader.payloadEnd();
      found.push(message.subarray(reader.position, end));
      reader.passTo(end);
    } else reader.skip();
  }
  return found;
}

const texts = (message: Buffer, wanted: number): readonly string[] =>
  messages(message, wanted).map((bytes) => bytes.toString("utf8"));
