// nginx for the stack: the application's own nginx.conf with loopback addresses in the place of its variables.

import { mkdir, writeFile } from "node:fs/promises";

import type { Ports } from "./ports.ts";

export async function prepareNginx(file: string, folder: string, ports: Ports): Promise<void> {
  await mkdir(folder, { recursive: true });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(" ");
  await writeFile(
    file,
    `pid ${folder}/pid; error_log stderr; events {}
    http { access_log off; ${temporary}
      server { listen 127.0.0.1:${ports.nginx}; location /status { stub_status; }
        location / { proxy_pass http://127.0.0.1:${ports.gateway}; } } }`,
  );
}
