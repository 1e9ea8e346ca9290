// Runs the start-up script like a machine, with stubs for the programs that would change this one: each records how it was
// called, and the clouds' command lines return settings that must then be in one file and nowhere else.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { terraformFolder } from "./terraform/module.ts";
import { evaluate, needsTerraform, withoutProviders } from "./terraform/program.ts";

const secret = "GRAFANA_PASSWORD=correct-horse-battery";
const clouds = {
  aws: { region: "eu-central-1", parameter_name: "/gpulse/env" },
  gcp: { project: "my-project", secret_name: "gpulse-env" },
} as const;
type Cloud = keyof typeof clouds;
const given = {
  repository_url: "https://example.org/gpulse.git",
  repository_ref: "v0.2.0",
  archive_uri: "",
  profiles: "core prometheus",
  swap_mb: "2048",
  open_services: "",
};

/** Terraform's template language, as far as these files use it: ${name}, and $${ for a plain ${. */
function template(file: string, values: Readonly<Record<string, string>>): string {
  const text = readFileSync(path.join(terraformFolder, "start-up", `${file}.sh.tftpl`), "utf8");
  return text.replace(/\$\$\{|\$\{(\w+)\}/g, (whole, name?: string) =>
    name === undefined ? "${" : (values[name] ?? whole),
  );
}

const render = (cloud: Cloud, values: Readonly<Record<string, string>>): string =>
  template("stack", { ...given, ...values, cloud: template(cloud, clouds[cloud]) });

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), "gpulse-start-up-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Stub programs by their shell text; each first records its arguments. */
function standIns(more: Readonly<Record<string, string>> = {}): string {
  const bin = path.join(folder, "bin");
  mkdirSync(bin);
  const checkout = 'mkdir -p "$2/deploy/compose" && echo "{}" > "$2/package.json"';
  const programs: Record<string, string> = {
    "apt-get": "",
    snap: "",
    systemctl: "",
    mkswap: "",
    swapon: "",
    fallocate: 'touch "$3"',
    docker: 'test "$2" != version',
    git: `case "$3" in checkout) ${checkout};; esac`,
    aws: `case "$1" in ssm) echo "${secret}";; s3) cp "$GPULSE_ARCHIVE" "\${@: -1}";; esac`,
    gcloud: `case "$1" in secrets) echo "${secret}";; storage) cp "$GPULSE_ARCHIVE" "\${@: -1}";; esac`,
    ...more,
  };
  for (const [name, body] of Object.entries(programs)) {
    const file = path.join(bin, name);
    writeFileSync(file, `#!/bin/bash\necho "${name} $*" >> "${folder}/calls"\n${body}\n`);
    chmodSync(file, 0o755);
  }
  return bin;
}

async function start(script: string, bin: string, env: Readonly<Record<string, string>> = {}) {
  const file = path.join(folder, "start-up.sh");
  writeFileSync(file, script);
  const done = await runProcess("bash", [file], {
    env: {
      PATH: `${bin}:/usr/bin:/bin`,
      GPULSE_START_UP_LOG: path.join(folder, "log"),
      GPULSE_SWAP_FILE: path.join(folder, "swapfile"),
      GPULSE_FSTAB: path.join(folder, "fstab"),
      GPULSE_DOCKER_SETTINGS: path.join(folder, "docker", "daemon.json"),
      GPULSE_RETRY_SECONDS: "0",
      ...env,
    },
    timeoutMs: 60_000,
  });
  const read = (name: string): string => {
    const from = path.join(folder, name);
    return existsSync(from) ? readFileSync(from, "utf8") : "";
  };
  return { ...done, calls: read("calls"), log: read("log") };
}

test.for(Object.keys(clouds) as Cloud[])(
  "on %s it builds and starts the stack, and its settings are in one closed file alone",
  async (cloud) => {
    const install_dir = path.join(folder, "gpulse");
    const done = await start(render(cloud, { install_dir }), standIns());
    expect(done.code).toBe(0);
    expect(done.calls).toContain(
      "docker compose --profile core --profile prometheus up --detach --build --remove-orphans",
    );
    expect(done.calls).toContain("fetch --quiet --depth 1 https://example.org/gpulse.git v0.2.0");
    const env = path.join(install_dir, "deploy/compose/.env");
    expect(readFileSync(env, "utf8")).toBe(`${secret}\n`);
    expect(statSync(env).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(env))).toEqual([".env"]);
    const settings = readFileSync(path.join(folder, "docker", "daemon.json"), "utf8");
    expect(JSON.parse(settings)).toMatchObject({ "log-opts": { "max-file": "3" } });
    expect(done.stdout + done.stderr + done.log + done.calls).not.toContain("battery");
  },
);

test("a service that the firewall opens listens beyond loopback, whatever the stored settings say", async () => {
  const install_dir = path.join(folder, "gpulse");
  const aws = `printf '${secret}\\nHUB_BIND=127.0.0.1\\nGRAFANA_BIND=127.0.0.1'`;
  const script = render("aws", { install_dir, open_services: "agent hub" });
  expect((await start(script, standIns({ aws }))).code).toBe(0);
  const env = path.join(install_dir, "deploy/compose/.env");
  expect(readFileSync(env, "utf8").split("\n").filter(Boolean)).toEqual([
    secret,
    "GRAFANA_BIND=127.0.0.1",
    "AGENT_BIND=0.0.0.0",
    "HUB_BIND=0.0.0.0",
  ]);
  expect(statSync(env).mode & 0o777).toBe(0o600);
});

test("every service that can be opened has a BIND variable in compose.yaml", () => {
  const compose = readFileSync(path.join(terraformFolder, "../compose/compose.yaml"), "utf8");
  for (const name of ["agent", "hub", "grafana", "prometheus"])
    expect(compose).toContain(`"\${${name.toUpperCase()}_BIND:-127.0.0.1}:`);
});

test("it says how it failed where the settings are not there, and starts nothing", async () => {
  const install_dir = path.join(folder, "gpulse");
  const done = await start(render("aws", { install_dir }), standIns({ aws: "exit 254" }));
  expect(done.code).not.toBe(0);
  expect(done.log).toContain("the settings could not be fetched");
  expect(done.calls).not.toContain(" up --detach");
  expect(existsSync(path.join(install_dir, "deploy/compose/.env"))).toBe(false);
});

test("at the next boot it leaves repository and swap as they are, and starts again", async () => {
  const install_dir = path.join(folder, "gpulse");
  const bin = standIns();
  const script = render("gcp", { install_dir });
  await start(script, bin);
  rmSync(path.join(folder, "calls"));
  const again = await start(script, bin);
  expect(again.code).toBe(0);
  expect(again.calls).not.toMatch(/^(git|mkswap|systemctl) /m);
  expect(again.calls).toContain(" up --detach");
});

test.for([
  ["aws", "s3://bucket/gpulse.tar.gz"],
  ["gcp", "gs://bucket/gpulse.tar.gz"],
] as const)("on %s the repository comes from %s where that is given", async ([cloud, uri]) => {
  const source = path.join(folder, "source");
  mkdirSync(path.join(source, "deploy/compose"), { recursive: true });
  writeFileSync(path.join(source, "package.json"), "{}");
  const archive = path.join(folder, "source.tar.gz");
  await runProcess("tar", ["-czf", archive, "-C", source, "."]);
  const install_dir = path.join(folder, "gpulse");
  const script = render(cloud, { install_dir, repository_url: "", archive_uri: uri });
  const done = await start(script, standIns(), { GPULSE_ARCHIVE: archive });
  expect(done.code).toBe(0);
  expect(done.calls).toContain(uri);
  expect(done.calls).not.toMatch(/^git /m);
  expect(existsSync(path.join(install_dir, "package.json"))).toBe(true);
});

test.for([
  [
    "aws-ec2",
    "aws",
    { region: "eu-central-1", ssh_public_key: "ssh-ed25519 AAAA", ssh_cidrs: ["203.0.113.7/32"] },
  ],
  ["gcp", "gcp", { project: "my-project", region: "europe-west3", zone: "europe-west3-b" }],
] as const)(
  "%s hands the machine this script, and it is bash",
  async ([name, cloud, needed], context) => {
    needsTerraform(context);
    const scratch = withoutProviders(name, {});
    try {
      const { repository_url, repository_ref } = given;
      const profiles = ["prometheus", "core"];
      const values = { ...needed, repository_url, repository_ref, profiles };
      const script = await evaluate(scratch.folder, "local.start_up", values);
      expect(script).toBe(render(cloud, { install_dir: "/opt/gpulse" }));
      // EC2's limit.
      expect(String(script).length).toBeLessThan(16_384);
      const checked = await runProcess("bash", ["-n"], { input: String(script) });
      expect([checked.code, checked.stderr]).toEqual([0, ""]);
    } finally {
      scratch.remove();
    }
  },
);
