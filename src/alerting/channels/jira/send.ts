/**
 * Maintains one Jira issue per group of alerts. The issue is found by its label `ALERT{hash of the group's key}`, created or
 * updated, and moved by a transition when the alerts resolve or fire again.
 */
import { NotifyError } from "../../route/notification.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { ChannelContext, OpenChannel } from "../channel.ts";
import { NotificationPoster } from "../post.ts";
import { groupKeyHash, urlBelow } from "../render.ts";
import { issueRenderer } from "./issue.ts";

interface UpdatableTemplate {
  readonly template: string;
  readonly enable_update: boolean;
}

export interface ReadyJira {
  readonly url: string;
  readonly api_type: "auto" | "cloud" | "datacenter";
  readonly http: HttpClientConfig;
  readonly project: string;
  readonly issue_type: string;
  readonly summary: UpdatableTemplate;
  readonly description: UpdatableTemplate;
  readonly labels: readonly string[];
  readonly priority: string;
  readonly resolve_transition: string;
  readonly reopen_transition: string;
  readonly reopen_duration: number;
  readonly wont_fix_resolution: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Issue {
  readonly key: string;
  readonly isDone: boolean;
}

type Call = (method: "GET" | "POST" | "PUT", url: string, content?: object) => Promise<unknown>;

export function openJira(ready: ReadyJira, context: ChannelContext): OpenChannel {
  const poster = new NotificationPoster("Jira", ready.http, context.hidden, context.nowMs);
  const project = context.text(ready.project);
  const issueOf = issueRenderer(ready, context);
  return {
    send: async (message, signal) => {
      const call: Call = async (method, url, content) => {
        const { body } = await poster.post({
          method,
          url,
          ...(content === undefined ? {} : { body: JSON.stringify(content) }),
          headers: { "accept-language": "en" },
          idempotencyKey: message.notification.idempotencyKey,
          signal,
        });
        return body.length === 0 ? undefined : parsed(body);
      };
      const firing = message.data.status === "firing";
      const alertLabel = `ALERT{${groupKeyHash(message)}}`;
      const jql = jqlOf(ready, project(message), alertLabel, firing);
      const found = await search(ready, jql, call);
      if (found === undefined) {
        // Alerts that resolved without an issue need none.
        if (!firing) return;
        await call("POST", urlBelow(ready.url, "issue"), issueOf(message, alertLabel, "create"));
        return;
      }
      const at = urlBelow(ready.url, `issue/${encodeURIComponent(found.key)}`);
      await call("PUT", at, issueOf(message, alertLabel, "update"));
      if (firing === found.isDone) await transition(ready, found, firing, at, call);
    },
    close: () => poster.close(),
  };
}

function jqlOf(ready: ReadyJira, project: string, label: string, firing: boolean): string {
  const { wont_fix_resolution: wontFix, reopen_transition: reopen } = ready;
  const reopenMinutes = Math.floor(ready.reopen_duration / 60_000);
  return [
    ...(wontFix === "" ? [] : [`resolution != ${JSON.stringify(wontFix)}`]),
    firing && reopen !== "" && reopenMinutes > 0
      ? `(resolutiondate is EMPTY OR resolutiondate >= -${reopenMinutes}m)`
      : "statusCategory != Done",
    `project=${JSON.stringify(project)}`,
    `labels=${JSON.stringify(label)} order by status ASC,resolutiondate DESC`,
  ].join(" and ");
}

/** Jira Cloud removed `/search`, and Data Center has no `/search/jql`. */
function searchUrl({ url, api_type: type }: ReadyJira): string {
  const isCloud =
    type === "cloud" || (type === "auto" && new URL(url).hostname.endsWith("atlassian.net"));
  if (!isCloud) return urlBelow(url, "search");
  return urlBelow(url, "search/jql").replace("/rest/api/2/", "/rest/api/3/");
}

async function search(ready: ReadyJira, jql: string, call: Call): Promise<Issue | undefined> {
  const content = { fields: ["status"], jql, maxResults: 2 };
  const result = (await call("POST", searchUrl(ready), content)) as {
    readonly issues?: readonly {
      readonly key?: unknown;
      readonly fields?: { readonly status?: { readonly statusCategory?: { key?: unknown } } };
    }[];
  } | null;
  const first = result?.issues?.[0];
  if (typeof first?.key !== "string" || first.key === "") return undefined;
  return { key: first.key, isDone: first.fields?.status?.statusCategory?.key === "done" };
}

async function transition(
  ready: ReadyJira,
  issue: Issue,
  firing: boolean,
  issueUrl: string,
  call: Call,
): Promise<void> {
  const name = firing ? ready.reopen_transition : ready.resolve_transition;
  if (name === "") return;
  const offered = (await call("GET", `${issueUrl}/transitions`)) as {
    readonly transitions?: readonly { readonly id?: unknown; readonly name?: unknown }[];
  } | null;
  const id = offered?.transitions?.find((one) => one.name === name)?.id;
  if (id === undefined)
    throw new NotifyError(`Jira offers no transition "${name}" for the issue ${issue.key}`, {
      retryable: false,
    });
  await call("POST", `${issueUrl}/transitions`, { transition: { id } });
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    throw new NotifyError("Jira's response is not JSON: check api_url", { retryable: false });
  }
}
