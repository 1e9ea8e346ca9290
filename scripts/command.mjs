// Runs another program for a script and returns its output; used by bootstrap, check and test. Must never pass external text
// through a shell.

import { spawn } from "node:child_process";
import path from "node:path";

/**
 * @typedef {{ code: number, output: string }} Finished
 * @typedef {{ cwd?: string, env?: NodeJS.ProcessEnv, show?: boolean }} CommandOptions
 */

/**
 * Runs a program to its end; signals to this process are forwarded, so that no child is left behind.
 * @param {string} command
 * @param {string[]} args
 * @param {CommandOptions & { shell?: boolean }} [options]
 * @returns {Promise<Finished>}
 */
export function runCommand(command, args, options = {}) {
  const { cwd, env = process.env, show = false, shell = false } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env,
      shell,
      stdio: ["ignore", show ? "inherit" : "pipe", show ? "inherit" : "pipe"],
    });
    /** @type {Buffer[]} */
    const chunks = [];
    child.stdout?.on("data", (chunk) => chunks.push(chunk));
    child.stderr?.on("data", (chunk) => chunks.push(chunk));
    /** @type {Map<NodeJS.Signals, () => void>} */
    const forwards = new Map();
    for (const name of /** @type {NodeJS.Signals[]} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
      const forward = () => child.kill(name);
      forwards.set(name, forward);
      process.on(name, forward);
    }
    const settle = () => {
      for (const [name, forward] of forwards) process.off(name, forward);
    };
    child.on("error", (error) => {
      settle();
      reject(error);
    });
    child.on("close", (code, signal) => {
      settle();
      resolve({
        code: code ?? (signal === null ? 1 : 130),
        output: Buffer.concat(chunks).toString("utf8"),
      });
    });
  });
}

/**
 * Runs a JavaScript file with the Node that runs this one.
 * @param {string} file
 * @param {string[]} args
 * @param {CommandOptions} [options]
 */
export function runNode(file, args, options) {
  return runCommand(process.execPath, [file, ...args], options);
}

/**
 * Runs npm. Inside an npm script its file is known and run directly; elsewhere Windows needs the shell for npm.cmd, and then the
 * arguments are our own constants.
 * @param {string[]} args
 * @param {CommandOptions} [options]
 */
export function runNpm(args, options) {
  const npmFile = process.env.npm_execpath;
  if (npmFile !== undefined && path.basename(npmFile) === "npm-cli.js")
    return runNode(npmFile, args, options);
  if (process.platform === "win32") return runCommand("npm.cmd", args, { ...options, shell: true });
  return runCommand("npm", args, options);
}
