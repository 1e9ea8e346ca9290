/** Opens the browser, only where a person sits at a desktop terminal; never from a script, over ssh or in CI. */
import type { Env } from "../../config/secrets.ts";
import { spawn } from "node:child_process";
import type { CommandIo } from "../command/io.ts";

export function hasDesktop(isTerminal: boolean, env: Env, platform: NodeJS.Platform): boolean {
  const isSet = (name: string): boolean => (env[name] ?? "") !== "";
  if (!isTerminal || isSet("CI") || isSet("SSH_CONNECTION") || isSet("SSH_TTY")) return false;
  if (platform === "darwin" || platform === "win32") return true;
  return isSet("DISPLAY") || isSet("WAYLAND_DISPLAY");
}

export function openBrowser(url: string, io: CommandIo): void {
  if (!hasDesktop(io.stdout.isTTY === true, io.env, process.platform)) return;
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", "", url]
        : ["xdg-open", url];
  if (command === undefined) return;
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  // No browser is no error: the URL stands on the screen.
  child.on("error", () => {});
  child.unref();
}
