// Writes the input files of a stack's programs: the shipped Prometheus and Alertmanager files unchanged, with loopback addresses
// in targets/ beside them and passwords filled in. Must never change a file of the repository.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { at, type Place } from "./place.ts";
import type { PortName } from "./ports.ts";
import { quickPrometheus, quickRouting, quickRules } from "./quick.ts";

const YEAR_MS = 365 * 86_400_000;
const asIs = (text: string): string => text;

/** The port at which each job of prometheus.yml is scraped. */
const JOBS: Readonly<Record<string, PortName>> = {
  gpu: "agent",
  vllm: "ml",
  ml: "ml",
  gateway: "gateway",
  worker: "worker",
  load: "load",
  node: "node",
  redis: "redis-exporter",
  postgres: "postgres-exporter",
  nginx: "nginx-exporter",
  cadvisor: "cadvisor",
  hub: "hub",
  prometheus: "prometheus",
  alertmanager: "alertmanager",
  victoriametrics: "victoriametrics",
};

export interface MailSettings {
  readonly user: string;
  readonly password: string;
}

export const paths = (dataDir: string) => {
  const config = path.join(dataDir, "config");
  return {
    config,
    prometheus: path.join(config, "prometheus", "prometheus.yml"),
    rules: path.join(config, "prometheus", "rules"),
    targets: path.join(config, "prometheus", "targets"),
    alertmanager: path.join(config, "alertmanager.yml"),
    nginx: path.join(config, "nginx.conf"),
    mailCa: path.join(config, "mail-ca.pem"),
    certificates: config,
  };
};

const shipped = (...parts: string[]): string => path.join(repository, "deploy", ...parts);

/** prometheus.yml and its rules; also called while the stack runs, to change the waiting times of rules. */
export async function writeRules(dataDir: string, quick: boolean): Promise<void> {
  const to = paths(dataDir);
  for (const folder of ["", "stack"]) {
    const from = shipped("prometheus", "rules", folder);
    await mkdir(path.join(to.rules, folder), { recursive: true });
    for (const name of (await readdir(from)).filter((file) => file.endsWith(".yml"))) {
      const text = await readFile(path.join(from, name), "utf8");
      await writeFile(path.join(to.rules, folder, name), (quick ? quickRules : asIs)(text));
    }
  }
  const config = await readFile(shipped("prometheus", "prometheus.yml"), "utf8");
  await writeFile(to.prometheus, (quick ? quickPrometheus : asIs)(config));
}

/** @param runs whether a service is part of this stack: an omitted one is not a target */
export async function writeTargets(place: Place, runs: (name: string) => boolean): Promise<void> {
  const { targets } = paths(place.dataDir);
  await rm(targets, { recursive: true, force: true });
  await mkdir(targets, { recursive: true });
  for (const [job, name] of Object.entries(JOBS)) {
    const list = runs(name) ? [{ targets: [at(place.ports[name])] }] : [];
    await writeFile(path.join(targets, `${job}.yml`), `${JSON.stringify(list)}\n`);
  }
}

/** The shipped alertmanager.yml, rendered by the same script as in compose. */
export async function writeRouting(
  place: Place,
  quick: boolean,
  mail: MailSettings,
): Promise<void> {
  const to = paths(place.dataDir);
  const routing = path.join(to.config, "alertmanager.template.yml");
  const text = await readFile(shipped("alertmanager", "alertmanager.yml"), "utf8");
  await writeFile(routing, (quick ? quickRouting : asIs)(text));
  const done = await runProcess(
    process.execPath,
    [shipped("alertmanager", "render.mjs"), routing, to.alertmanager],
    {
      env: {
        SMTP_HOST: "localhost",
        SMTP_PORT: String(place.ports.smtp),
        SMTP_FROM: "gpulse@stack.example",
        SMTP_USER: mail.user,
        EMAIL_PASS: mail.password,
        ALERT_EMAIL_TO: "gpu-team@stack.example",
        ALERT_WEBHOOK: `${at(place.ports.hub)}/alert`,
        IDLE_WEBHOOK: `${at(place.ports.gateway)}/idle`,
      },
    },
  );
  if (done.code !== 0) throw new Error(done.stderr.trim());
}

/** A certificate for the mailbox, and its CA for the senders: mail is sent as strictly as to an external server. */
export async function writeCertificates(dataDir: string): Promise<void> {
  const to = paths(dataDir);
  const authority = makeAuthority("gpulse stack", YEAR_MS);
  const issued = authority.issue({
    commonName: "localhost",
    names: ["localhost", "127.0.0.1"],
    validMs: YEAR_MS,
  });
  writeCertificate(to.certificates, "mail", issued);
  await writeFile(to.mailCa, authority.cert);
}
