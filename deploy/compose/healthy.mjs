// A container's health check: exits with 0 if the URL returns a success. The images have no curl.
//
//   node healthy.mjs URL   requests this URL
//   node healthy.mjs       requests the container's gpulse, on the port of its --port or EXPORTER_PORT
import { readFileSync, realpathSync } from "node:fs";
import { get } from "node:https";
import process from "node:process";
import { fileURLToPath } from "node:url";

const TIMEOUT_MS = 5_000;
const PORTS = { agent: "9400", hub: "9410", up: "9410" };
const PATHS = { agent: "/healthz", hub: "/-/healthy", up: "/-/healthy" };

/**
 * The health URL of a gpulse with this command line and environment. As in gpulse, the flag takes precedence over the variable,
 * which applies only to the agent.
 *
 * @param {readonly string[]} commandLine of the container's first process: gpulse, or an init process followed by gpulse
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function healthAddress(commandLine, env) {
  const args = commandLine.slice(commandLine.findIndex((word) => /(^|\/)gpulse$/.test(word)) + 1);
  const words = args.filter((word) => !word.startsWith("-"));
  const command = words.includes("hub") ? "hub" : words[0] === "up" ? "up" : "agent";
  let flag = "";
  for (const [index, word] of args.entries()) {
    if (word === "--port") flag = args[index + 1] ?? "";
    if (word.startsWith("--port=")) flag = word.slice("--port=".length);
  }
  const variable = command === "agent" ? (env["EXPORTER_PORT"] ?? "") : "";
  return `http://127.0.0.1:${flag || variable || PORTS[command]}${PATHS[command]}`;
}

/** @param {string} address */
async function isHealthy(address) {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return isHealthyByTls(address.replace(/^http:/, "https:"));
  }
}

/**
 * The certificate is for the public name, not for 127.0.0.1.
 * @param {string} address @returns {Promise<boolean>}
 */
function isHealthyByTls(address) {
  return new Promise((resolve) => {
    const options = { rejectUnauthorized: false, timeout: TIMEOUT_MS };
    const request = get(address, options, (response) => {
      response.resume();
      const { statusCode = 0 } = response;
      resolve(statusCode >= 200 && statusCode < 300);
    });
    request.on("error", () => resolve(false));
    request.on("timeout", () => request.destroy());
  });
}

function firstCommandLine() {
  try {
    return readFileSync("/proc/1/cmdline", "utf8").split("\0").filter(Boolean);
  } catch {
    return [];
  }
}

if (
  process.argv[1] !== undefined &&
  realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
) {
  const [address = healthAddress(firstCommandLine(), process.env)] = process.argv.slice(2);
  process.exitCode = (await isHealthy(address)) ? 0 : 1;
}
