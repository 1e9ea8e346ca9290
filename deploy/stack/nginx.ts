// nginx for the stack: the application's own nginx.conf with loopback addresses for its variables.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { repository } from "../../engines/program.ts";
import { at } from "./place.ts";
import type { Ports } from "./ports.ts";

const TEMPLATE = path.join(repository, "deploy", "demo-app", "nginx", "nginx.conf");

export async function prepareNginx(file: string, folder: string, ports: Ports): Promise<void> {
  await mkdir(folder, { recursive: true });
  const values: Readonly<Record<string, string>> = {
    NGINX_FOLDER: folder,
    // A line per request would be most of what the stack writes; the gateway counts requests.
    NGINX_ACCESS_LOG: "/dev/null",
    GATEWAY_ADDRESS: at(ports.gateway),
    NGINX_LISTEN: at(ports.nginx),
  };
  const text = (await readFile(TEMPLATE, "utf8")).replaceAll(
    /\$\{([A-Z_]+)\}/g,
    (found, name: string) => {
      const value = values[name];
      if (value === undefined)
        throw new Error(`BUG: nginx.conf asks for ${found}, which nobody gives`);
      return value;
    },
  );
  await writeFile(file, text);
}
