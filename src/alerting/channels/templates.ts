/**
 * The templates of a configuration: the defaults, overridden by those of the files it names. Files are read once, when it is
 * opened.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { formatError } from "../../base/error.ts";
import { expandGlob } from "../../config/yaml/glob.ts";
import { TemplateSet } from "../../formats/template/exec.ts";
import {
  alertmanagerFunctions,
  notificationValue,
} from "../../formats/template/functions/alertmanager.ts";
import { TemplateError } from "../../formats/template/lex.ts";
import type { Render } from "./channel.ts";
import { defaultEmail } from "./default-email.ts";
import { defaultTemplates } from "./default-templates.ts";

/** The name of an inline template; no file can define it, since YAML text cannot contain this character. */
const own = "\u0000";
const maxFileBytes = 1024 * 1024;

export class NotificationTemplates {
  readonly #nowMs: () => number;
  #templates: TemplateSet | undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** @throws TemplateError */
  add(source: string): void {
    this.#set().add(source);
  }

  text(source: string): Render {
    return compiled(source, () => this.#set().clone());
  }

  /** Compiles a template that HTML-escapes the values it inserts. */
  html(source: string): Render {
    return compiled(source, () => this.#set().clone(true));
  }

  /** Parsed on first use: most hubs send no notifications. */
  #set(): TemplateSet {
    if (this.#templates !== undefined) return this.#templates;
    const made = new TemplateSet(alertmanagerFunctions(this.#nowMs));
    made.add(defaultTemplates);
    made.add(defaultEmail);
    this.#templates = made;
    return made;
  }

  /** Adds the files of a pattern; returns the errors, one sentence each. */
  addFiles(pattern: string, folder: string): string[] {
    const full = path.resolve(folder, pattern);
    if (/[*?[]/.test(path.dirname(full)))
      return [`templates: ${pattern}: wildcards are allowed only in the last part of a path.`];
    const files = expandGlob(full);
    if (files.length === 0 && !/[*?[]/.test(path.basename(full)))
      return [`templates: the file ${full} does not exist.`];
    return files.flatMap((file) => {
      try {
        const bytes = readFileSync(file);
        if (bytes.length > maxFileBytes) return [`templates: ${file} is larger than 1 MiB.`];
        this.add(bytes.toString("utf8"));
        return [];
      } catch (thrown) {
        return [`templates: ${file}: ${formatError(thrown)}`];
      }
    });
  }
}

function compiled(source: string, open: () => TemplateSet): Render {
  if (!source.includes("{{")) return () => source;
  const copy = open();
  copy.add(source, own);
  refuseUnknown(copy);
  return ({ value }) => copy.run(own, value);
}

/** Rejects a call of an undefined template now rather than at the first alert. */
function refuseUnknown(set: TemplateSet): void {
  try {
    set.run(own, sample);
  } catch (thrown) {
    if (
      thrown instanceof TemplateError &&
      /^(.*: )?template ".*" not defined$/.test(thrown.message)
    )
      throw thrown;
  }
}

const sample = notificationValue({
  receiver: "sample",
  status: "firing",
  alerts: [
    {
      status: "firing",
      labels: { alertname: "Sample" },
      annotations: {},
      startsAtMs: 0,
      endsAtMs: 0,
      generatorUrl: "",
      fingerprint: "",
    },
  ],
  groupLabels: {},
  commonLabels: { alertname: "Sample" },
  commonAnnotations: {},
  externalUrl: "",
  routeLabels: {},
});
