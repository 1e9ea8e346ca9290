#!/usr/bin/env node
// A queue of shell jobs for idle GPUs: receives the webhook of the alert GpuIdle and runs the next job of a folder on that GPU.
//
//   node idle-queue.mjs --queue DIR [--port 8080] [--host NAME] [--least-free 20GB] [--restart-grace 30] [--sysfs /sys]
//
// DIR/waiting/*.sh   jobs, in the order of their names; add one with mv, so that it is complete when it appears
// DIR/running        running jobs; DIR/done and DIR/failed finished ones, each with its output beside it as NAME.log
//
// A job gets GPU_UUID, GPU_INDEX, GPU_VENDOR, GPU_MODEL, GPU_MEMORY_FREE_BYTES and the variables that confine its runtime to the
// GPU: CUDA_VISIBLE_DEVICES (NVIDIA), ROCR_VISIBLE_DEVICES with HIP_VISIBLE_DEVICES=0 (AMD), or ZE_AFFINITY_MASK (Intel). A GPU
// is idle from the start of its alert to the end; while it is idle and runs none of our jobs, it gets the next one.
//
// Jobs outlive the queue. DIR/running/NAME.json contains the job's process and GPU, NAME.exit its exit status once it has ended,
// and DIR/idle-HOST-PORT.json the idle GPUs: a restarted queue continues from them. It waits --restart-grace seconds before it
// starts jobs on GPUs known only from that file, so that an alert that resolved meanwhile can be delivered first.
// IDLE_QUEUE_TOKEN, if set, must be sent as a bearer token.
import { spawn } from "node:child_process";
import { timingSafeEqual } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { hostname } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const { values: flags } = parseArgs({
  options: {
    queue: { type: "string" },
    port: { type: "string", default: "8080" },
    host: { type: "string" },
    "least-free": { type: "string", default: "0" },
    "restart-grace": { type: "string", default: "30" },
    sysfs: { type: "string", default: "/sys" },
  },
});
const print = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
if (flags.queue === undefined) {
  process.stderr.write("idle-queue: give --queue DIR\n");
  process.exit(2);
}
const queue = path.resolve(flags.queue);
for (const name of ["waiting", "running", "done", "failed"]) makeFolder(path.join(queue, name));
const inRunning = (/** @type {string} */ name) => path.join(queue, "running", name);

/**
 * Creates a folder with its parents; Node's own recursive option never returns for a folder in /proc or /sys.
 * @param {string} folder
 */
function makeFolder(folder) {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  try {
    mkdirSync(folder);
  } catch (thrown) {
    process.stderr.write(`idle-queue: cannot create ${folder}: ${String(thrown)}\n`);
    process.exit(2);
  }
}

/** @typedef {{ index: string, model: string, vendor: string, free: string }} Gpu */
/** @typedef {{ status: string, labels: Record<string, string>, annotations: Record<string, string> }} Alert */
/** @typedef {{ pid: number, start: string }} ProcessId */
/** @typedef {{ host: string, uuid: string, queue: ProcessId } & ProcessId} JobRecord */

const token = process.env["IDLE_QUEUE_TOKEN"] ?? "";
const leastFree = parseBytes(flags["least-free"]);
const self = { pid: process.pid, start: startOf(process.pid) };
const idleFile = path.join(queue, `idle-${hostname()}-${flags.port}.json`);
/** Idle GPUs by uuid: their alert is firing. @type {Map<string, Gpu>} */
const idle = new Map(Object.entries(/** @type {Record<string, Gpu>} */ (readJson(idleFile) ?? {})));
/** The GPUs among them that are known only from the file. */
const remembered = new Set(idle.keys());
/** GPUs reported as impossible to select for a runtime. @type {Set<string>} */
const reported = new Set();
/** Our running jobs, by name. @type {Map<string, JobRecord>} */
const jobs = new Map();

/** @param {Alert} alert */
function receive(alert) {
  const { labels, annotations } = alert;
  const uuid = labels["uuid"];
  if (labels["alertname"] !== "GpuIdle" || uuid === undefined) return;
  if (flags.host !== undefined && labels["host"] !== flags.host) return;
  remembered.delete(uuid);
  const free = annotations["memory_free_bytes"] ?? "";
  if (alert.status === "resolved") idle.delete(uuid);
  else if (leastFree === 0 || Number(free) >= leastFree)
    idle.set(uuid, {
      index: labels["gpu"] ?? "",
      model: annotations["gpu_model"] ?? "",
      vendor: annotations["gpu_vendor"] || vendorOf(uuid),
      free,
    });
  writeJson(idleFile, Object.fromEntries(idle));
  startJobs();
}

/** Guesses the vendor from the form of the uuid, if a user's own rule does not report it. @param {string} uuid */
function vendorOf(uuid) {
  if (uuid.startsWith("intel-")) return "intel";
  return /^amd-|^GPU-[0-9a-f]{16}$/i.test(uuid) ? "amd" : "nvidia";
}

function startJobs() {
  const busy = new Set([...jobs.values()].map(({ uuid }) => uuid));
  for (const [uuid, gpu] of idle) {
    if (busy.has(uuid) || remembered.has(uuid)) continue;
    const variables = visibility(uuid, gpu.vendor);
    if (variables === undefined) {
      if (!reported.has(uuid))
        print(
          `${uuid} gets no job: ${flags.sysfs} does not show its number to the ${gpu.vendor} runtime`,
        );
      reported.add(uuid);
      continue;
    }
    const name = next();
    if (name === undefined) return;
    run(name, uuid, gpu, variables);
  }
}

/**
 * The variables that restrict the vendor's runtime to this GPU. ROCm takes its own uuid or the index in KFD's order; HIP then
 * counts the GPUs that ROCr left. Level Zero takes only indexes, in bus order if requested.
 *
 * @param {string} uuid @param {string} vendor @returns {Record<string, string> | undefined}
 */
function visibility(uuid, vendor) {
  const bus = uuid.replace(/^(amd|intel)-/, "");
  if (vendor === "amd") {
    const device = bus === uuid ? uuid : position(kfdAddresses(), bus);
    return device && { ROCR_VISIBLE_DEVICES: device, HIP_VISIBLE_DEVICES: "0" };
  }
  if (vendor === "intel") {
    const device = position(intelAddresses(), bus);
    return device && { ZE_AFFINITY_MASK: device, ZE_ENABLE_PCI_ID_DEVICE_ORDER: "1" };
  }
  return { CUDA_VISIBLE_DEVICES: uuid };
}

/** @param {string[]} addresses @param {string} bus */
function position(addresses, bus) {
  const at = addresses.indexOf(bus);
  return at === -1 ? undefined : String(at);
}

/** PCI addresses of the GPUs that ROCm counts: the KFD nodes with a gpu_id, by node number. */
function kfdAddresses() {
  const nodes = path.join(flags.sysfs, "class/kfd/kfd/topology/nodes");
  return list(nodes)
    .sort((one, other) => Number(one) - Number(other))
    .filter((node) => Number(readText(path.join(nodes, node, "gpu_id"))) > 0)
    .map((node) => {
      const text = readText(path.join(nodes, node, "properties"));
      const number = (/** @type {string} */ key) =>
        Number(new RegExp(`^${key} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
      const hex = (/** @type {number} */ value, /** @type {number} */ digits) =>
        value.toString(16).padStart(digits, "0");
      const at = number("location_id");
      return `${hex(number("domain"), 4)}:${hex((at >> 8) & 0xff, 2)}:${hex((at >> 3) & 0x1f, 2)}.${at & 7}`;
    });
}

function intelAddresses() {
  return ["i915", "xe"]
    .flatMap((driver) => list(path.join(flags.sysfs, "bus/pci/drivers", driver)))
    .filter((name) => /^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/.test(name))
    .sort();
}

/** Claims the first job by renaming it, which only one of several queues can do. */
function next() {
  const waiting = list(path.join(queue, "waiting")).filter((name) => name.endsWith(".sh"));
  for (const name of waiting.sort())
    try {
      renameSync(path.join(queue, "waiting", name), inRunning(name));
      return name;
    } catch {
      // Another queue has claimed it.
    }
  return undefined;
}

const visibilityVariables =
  "CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK";

/** @param {string} name @param {string} uuid @param {Gpu} gpu @param {Record<string, string>} variables */
function run(name, uuid, gpu, variables) {
  print(`${name} starts on GPU ${gpu.index} (${uuid})`);
  const hidden = Object.fromEntries(visibilityVariables.split(" ").map((key) => [key, undefined]));
  const output = openSync(inRunning(`${name}.log`), "a");
  // A separate session survives the end of the queue. The shell around the job writes its exit status for whichever queue reads
  // it.
  const child = spawn("sh", ["-c", 'sh "$1"; echo $? > "$1.exit"', "sh", inRunning(name)], {
    detached: true,
    stdio: ["ignore", output, output],
    env: {
      ...process.env,
      ...hidden,
      ...variables,
      IDLE_QUEUE_TOKEN: undefined,
      GPU_UUID: uuid,
      GPU_INDEX: gpu.index,
      GPU_VENDOR: gpu.vendor,
      GPU_MODEL: gpu.model,
      GPU_MEMORY_FREE_BYTES: gpu.free,
    },
  });
  closeSync(output);
  const pid = child.pid ?? 0;
  const record = { host: hostname(), uuid, queue: self, pid, start: startOf(pid) };
  jobs.set(name, record);
  writeJson(inRunning(`${name}.json`), record);
  child.on("error", (error) => process.stderr.write(`idle-queue: ${name}: ${error.message}\n`));
  child.on("close", settleJobs);
}

/** Moves ended jobs to done or failed by their exit status; killed ones to failed. */
function settleJobs() {
  for (const [name, record] of jobs) {
    const status = readText(inRunning(`${name}.exit`)).trim();
    if (status === "" && isRunning(record)) continue;
    const ok = status === "0";
    jobs.delete(name);
    for (const file of [name, `${name}.log`])
      if (existsSync(inRunning(file)))
        renameSync(inRunning(file), path.join(queue, ok ? "done" : "failed", file));
    for (const file of [`${name}.json`, `${name}.exit`]) rmSync(inRunning(file), { force: true });
    print(`${name} ${ok ? "is done" : status === "" ? "was killed" : `failed with ${status}`}`);
  }
}

/** Adopts the jobs of an ended queue on this machine. A job without a record was never started, and waits again. */
function adoptJobs() {
  for (const name of list(path.join(queue, "running")).filter((one) => one.endsWith(".sh"))) {
    const record = /** @type {JobRecord | undefined} */ (readJson(inRunning(`${name}.json`)));
    if (record === undefined) renameSync(inRunning(name), path.join(queue, "waiting", name));
    else if (record.host === hostname() && !isRunning(record.queue)) {
      jobs.set(name, { ...record, queue: self });
      writeJson(inRunning(`${name}.json`), { ...record, queue: self });
      if (isRunning(record)) print(`${name} still runs on ${record.uuid}`);
    }
  }
  settleJobs();
}

/** Process ids are reused, start times within one boot are not. @param {ProcessId} id */
function isRunning({ pid, start }) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ESRCH") return false;
  }
  return pid > 0 && startOf(pid) === start;
}

/** Boot id and start time of a process; empty without /proc. @param {number} pid */
function startOf(pid) {
  const stat = readText(`/proc/${pid}/stat`);
  // The name in brackets may contain anything, so fields are counted from the last bracket. Z is a process that has ended.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (stat === "" || fields[0] === "Z") return "";
  return `${readText("/proc/sys/kernel/random/boot_id").trim()} ${fields[19]}`;
}

/** @param {string} folder */
function list(folder) {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** The file's text; empty if there is no such file. @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** @param {string} file @returns {unknown} */
function readJson(file) {
  try {
    return JSON.parse(readText(file) || "null") ?? undefined;
  } catch {
    process.stderr.write(`idle-queue: ${file} is damaged and ignored\n`);
    return undefined;
  }
}

/** @param {string} file @param {unknown} value */
function writeJson(file, value) {
  writeFileSync(`${file}.new`, JSON.stringify(value));
  renameSync(`${file}.new`, file);
}

/** @param {string} text */
function parseBytes(text) {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(|[KMGT]i?)B?$/i.exec(text) ?? [];
  if (amount === undefined) throw new Error(`idle-queue: "${text}" is no size such as 20GB`);
  const power = "KMGT".indexOf((unit?.[0] ?? "").toUpperCase()) + 1;
  return Number(amount) * (unit?.length === 2 ? 1024 : 1000) ** (unit === "" ? 0 : power);
}

/** @param {string | undefined} header */
function isAuthorized(header) {
  if (token === "") return true;
  const [given, wanted] = [Buffer.from(header ?? ""), Buffer.from(`Bearer ${token}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

const server = createServer((request, response) => {
  const answer = (/** @type {number} */ status) => response.writeHead(status).end();
  if (request.method !== "POST") return answer(405);
  if (!isAuthorized(request.headers.authorization)) return answer(401);
  let body = "";
  request.setEncoding("utf8").on("data", (part) => {
    body += part;
    if (body.length > 1_000_000) request.destroy();
  });
  request.on("end", () => {
    try {
      const { alerts } = /** @type {{ alerts: Alert[] }} */ (JSON.parse(body));
      for (const alert of alerts) receive(alert);
      answer(200);
    } catch (error) {
      process.stderr.write(`idle-queue: ${String(error)}\n`);
      answer(400);
    }
  });
});
adoptJobs();
setTimeout(() => remembered.clear(), Number(flags["restart-grace"]) * 1_000);
server.listen(Number(flags.port), "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  print(`idle-queue listens on http://127.0.0.1:${port} for jobs in ${queue}`);
});
// A job added while GPUs are idle does not wait for the next webhook; adopted jobs end without an event.
setInterval(() => {
  settleJobs();
  startJobs();
}, 1_000);
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"]))
  process.on(signal, () => process.exit(0));
