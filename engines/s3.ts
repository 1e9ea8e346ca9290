// A real S3-compatible server on a free loopback port: moto, which checks signatures, policies and conditional writes if
// configured to. Chosen over versitygw, which also does but takes 2.4 minutes to compile, against 20 s to install. Its data is in
// memory.

import { fileURLToPath } from "node:url";

import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";
import { pythonPackages } from "./python.ts";

const SERVER = fileURLToPath(new URL("./s3_server.py", import.meta.url));
const PACKAGES = ["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"];

export interface S3Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface RunningS3 {
  /** Path-style addresses only: `ENDPOINT/BUCKET/KEY`. */
  readonly endpoint: string;
  readonly region: string;
  /** Has all permissions. */
  readonly owner: S3Keys;
  /** May read and list; a write is denied. A wrong secret is distinguished from an unknown key. */
  readonly reader: S3Keys;
  /** SIGKILL; its data is lost. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Returns a Python that has the server installed. */
export async function s3Python(): Promise<string> {
  const { python } = await pythonPackages("moto", PACKAGES);
  return python;
}

export async function startS3(): Promise<RunningS3> {
  const python = await s3Python();
  const port = await freePort();
  const server = startProcess(python, [SERVER, String(port)], { name: "moto" });
  try {
    const printed = await server.waitForOutput(/^keys (\{.*\})$/m, 60_000);
    const keys = JSON.parse(printed[1] ?? "") as Pick<RunningS3, "owner" | "reader">;
    return {
      endpoint: `http://127.0.0.1:${port}`,
      region: "us-east-1",
      owner: keys.owner,
      reader: keys.reader,
      kill: async () => {
        process.kill(server.pid, "SIGKILL");
        await server.waitForExit();
      },
      stop: async () => void (await server.stop()),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
