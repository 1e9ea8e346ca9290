#!/usr/bin/env node
// A queue of shell jobs for idle GPUs: takes the webhook of the alert GpuIdle and runs the next job of a folder on that GPU.
//
//   node idle-queue.mjs --queue DIR [--port 8080] [--host NAME] [--least-free 20GB]
//
// DIR/waiting/*.sh   jobs, the first by name first; put one in with mv, so that it is whole when it is seen
// DIR/running        what runs now; DIR/done and DIR/failed what has run, each with its output beside it as NAME.log
//
// A job gets CUDA_VISIBLE_DEVICES (the GPU's uuid), GPU_UUID, GPU_INDEX, GPU_MODEL and GPU_MEMORY_FREE_BYTES. A GPU asks
// from the alert's start to its end; while it asks and runs no job of ours, it gets the next one.
// IDLE_QUEUE_TOKEN, where it is set, must come along as a bearer token.
import { spawn } from "node:child_process";
import { timingSafeEqual } from "node:crypto";
import { mkdirSync, openSync, closeSync, readdirSync, renameSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { parseArgs } from "node:util";

const { values: flags } = parseArgs({
  options: {
    queue: { type: "string" },
    port: { type: "string", default: "8080" },
    host: { type: "string" },
    "least-free": { type: "string", default: "0" },
  },
});
const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
if (flags.queue === undefined) {
  process.stderr.write("idle-queue: give --queue DIR\n");
  process.exit(2);
}
const queue = path.resolve(flags.queue);
for (const name of ["waiting", "running", "done", "failed"])
  mkdirSync(path.join(queue, name), { recursive: true });

const token = process.env["IDLE_QUEUE_TOKEN"] ?? "";
const leastFree = bytesOf(flags["least-free"]);
/** @typedef {{ index: string, model: string, free: string }} Gpu */
/** @typedef {{ status: string, labels: Record<string, string>, annotations: Record<string, string> }} Alert */
/** GPUs that ask for work, by uuid: heard firing, and not yet resolved. @type {Map<string, Gpu>} */
const asking = new Map();
/** GPUs that run a job of ours. @type {Set<string>} */
const busy = new Set();

/** @param {Alert} alert */
function hear(alert) {
  const { labels, annotations } = alert;
  const uuid = labels["uuid"];
  if (labels["alertname"] !== "GpuIdle" || uuid === undefined) return;
  if (flags.host !== undefined && labels["host"] !== flags.host) return;
  if (alert.status === "resolved") {
    asking.delete(uuid);
    return;
  }
  const free = annotations["memory_free_bytes"] ?? "";
  if (leastFree > 0 && !(Number(free) >= leastFree)) return;
  asking.set(uuid, { index: labels["gpu"] ?? "", model: annotations["gpu_model"] ?? "", free });
  startJobs();
}

function startJobs() {
  for (const [uuid, gpu] of asking) {
    if (busy.has(uuid)) continue;
    const name = next();
    if (name === undefined) return;
    busy.add(uuid);
    run(name, uuid, gpu);
  }
}

/** Takes the first job by renaming it, which only one of several queues can. */
function next() {
  const waiting = readdirSync(path.join(queue, "waiting"))
    .filter((name) => name.endsWith(".sh"))
    .sort();
  for (const name of waiting)
    try {
      renameSync(path.join(queue, "waiting", name), path.join(queue, "running", name));
      return name;
    } catch {
      // Somebody else has it.
    }
  return undefined;
}

/** @param {string} name @param {string} uuid @param {Gpu} gpu */
function run(name, uuid, gpu) {
  say(`${name} starts on GPU ${gpu.index} (${uuid})`);
  const output = openSync(path.join(queue, "running", `${name}.log`), "a");
  const job = spawn("sh", [path.join(queue, "running", name)], {
    stdio: ["ignore", output, output],
    env: {
      ...process.env,
      IDLE_QUEUE_TOKEN: "",
      CUDA_VISIBLE_DEVICES: uuid,
      GPU_UUID: uuid,
      GPU_INDEX: gpu.index,
      GPU_MODEL: gpu.model,
      GPU_MEMORY_FREE_BYTES: gpu.free,
    },
  });
  closeSync(output);
  const finish = (/** @type {boolean} */ ok) => {
    if (!busy.delete(uuid)) return;
    for (const file of [name, `${name}.log`])
      renameSync(path.join(queue, "running", file), path.join(queue, ok ? "done" : "failed", file));
    say(`${name} ${ok ? "is done" : "failed"}`);
  };
  job.on("error", () => finish(false));
  job.on("exit", (code) => finish(code === 0));
}

/** @param {string} text */
function bytesOf(text) {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(|[KMGT]i?)B?$/i.exec(text) ?? [];
  if (amount === undefined) throw new Error(`idle-queue: "${text}" is no size such as 20GB`);
  const power = "KMGT".indexOf((unit?.[0] ?? "").toUpperCase()) + 1;
  return Number(amount) * (unit?.length === 2 ? 1024 : 1000) ** (unit === "" ? 0 : power);
}

/** @param {string | undefined} header */
function isKnown(header) {
  if (token === "") return true;
  const [given, wanted] = [Buffer.from(header ?? ""), Buffer.from(`Bearer ${token}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

const server = createServer((request, response) => {
  const answer = (/** @type {number} */ status) => response.writeHead(status).end();
  if (request.method !== "POST") return answer(405);
  if (!isKnown(request.headers.authorization)) return answer(401);
  let body = "";
  request.setEncoding("utf8").on("data", (part) => {
    body += part;
    if (body.length > 1_000_000) request.destroy();
  });
  request.on("end", () => {
    try {
      const { alerts } = /** @type {{ alerts: Alert[] }} */ (JSON.parse(body));
      for (const alert of alerts) hear(alert);
      answer(200);
    } catch (error) {
      process.stderr.write(`idle-queue: ${String(error)}\n`);
      answer(400);
    }
  });
});
server.listen(Number(flags.port), "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  say(`idle-queue listens on http://127.0.0.1:${port} for jobs in ${queue}`);
});
// A job that is put in while GPUs wait is not kept waiting for the next message.
setInterval(startJobs, 2_000);
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"]))
  process.on(signal, () => process.exit(0));
