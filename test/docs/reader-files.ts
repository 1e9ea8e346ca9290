// The reader's own files mentioned on pages: logs, certificates, configurations.

import { chmodSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { makeAuthority } from "../../engines/certificates.ts";
import { repository } from "../../engines/program.ts";
import { geforceColumns, gpuzBytes, headerLine, rowLine } from "../fixtures/formats/gpuz.ts";
import { codeBlocks, readPage } from "./pages.ts";

/** Five seconds of a GPU-Z log that end now, so that no retention rejects them. */
function gpuzLog(): Buffer {
  const rows = [5, 4, 3, 2, 1].map((secondsAgo) => {
    const time = new Date(Date.now() - secondsAgo * 1_000).toISOString();
    return rowLine(
      time.slice(0, 19).replace("T", " "),
      geforceColumns.map((_, at) => 40 + at),
    );
  });
  return gpuzBytes(headerLine(geforceColumns) + rows.join(""));
}

/** Job "a" has a service discovery that the hub does not support, as shown in docs/guides/ways-in-and-out.md. */
const PROMETHEUS = `scrape_configs:
  - { job_name: a, ec2_sd_configs: [{ region: eu-central-1 }] }
  - job_name: gpulse
    static_configs: [{ targets: ["127.0.0.1:9400"] }]
`;
const ALERTMANAGER = `route: { receiver: nobody }
receivers: [{ name: nobody }]
`;
const RULES = `groups:
  - name: mine
    rules:
      - { alert: Hot, expr: gpu_temperature_celsius > 90 }
`;

/** Creates a folder with the files that the commands of every page refer to. */
export function writeReaderFiles(folder: string): void {
  const write = (name: string, content: string | Buffer): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  };
  for (const name of ["GPU-Z Sensor Log.txt", "sensors.txt"]) write(name, gpuzLog());
  write("prometheus.yml", PROMETHEUS);
  write("alertmanager.yml", ALERTMANAGER);
  write("rules/mine.yml", RULES);
  write("my-rules.yml", RULES);
  const [scenario] = codeBlocks(readPage("docs/reference/sim-scenarios.md").text).filter(
    ({ language }) => language === "yaml",
  );
  write("my-lab.yaml", scenario?.code ?? "");

  for (const name of ["srv/jobs/waiting", "var/lib/gpulse"])
    mkdirSync(path.join(folder, name), { recursive: true });
  write("benchmark", "#!/bin/sh\nexec sleep 1\n");
  chmodSync(path.join(folder, "benchmark"), 0o755);

  const authority = makeAuthority("gpulse docs");
  const { cert, key } = authority.issue({ commonName: "localhost", names: ["127.0.0.1"] });
  for (const name of ["hub", "cert"]) write(`${name}.pem`, cert);
  for (const name of ["hub", "key"]) write(name === "hub" ? "hub.key" : "key.pem", key);
  for (const name of ["ca.pem", "clients.pem", "etc/gpulse/ca.pem"]) write(name, authority.cert);
  write("etc/gpulse/token", "0123456789abcdef0123456789abcdef");
  cpSync(path.join(repository, "deploy/alertmanager"), path.join(folder, "deploy/alertmanager"), {
    recursive: true,
  });
}
