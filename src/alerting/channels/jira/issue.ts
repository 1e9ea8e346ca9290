/** The fields of an issue, rendered from the entry's templates. */
import type { ChannelContext, ChannelMessage, Render } from "../channel.ts";
import { shorten, shortenLines } from "../shorten.ts";
import type { ReadyJira } from "./send.ts";

/** In characters. */
const longest = { summary: 255, description: 32_767 };

type IssueRenderer = (
  message: ChannelMessage,
  alertLabel: string,
  purpose: "create" | "update",
) => object;

export function issueRenderer(ready: ReadyJira, context: ChannelContext): IssueRenderer {
  const summary = context.text(ready.summary.template);
  const description = context.text(ready.description.template);
  const project = context.text(ready.project);
  const issueType = context.text(ready.issue_type);
  const priority = context.text(ready.priority);
  const labels = ready.labels.map((label) => context.text(label));
  const fields = Object.entries(ready.fields).map(
    ([name, value]) => [name, compileDeep(value, context)] as const,
  );
  // API version 3 takes documents where version 2 takes text.
  const takesDocuments = /\/3\/*$/.test(new URL(ready.url).pathname);
  return (message, alertLabel, purpose) => {
    const isNew = purpose === "create";
    const text = shortenLines(description(message), longest.description);
    const shownPriority = priority(message);
    return {
      fields: {
        ...(isNew || ready.description.enable_update
          ? { description: takesDocuments ? documentOf(text) : text }
          : {}),
        ...(isNew || ready.summary.enable_update
          ? { summary: shorten(summary(message), longest.summary) }
          : {}),
        issuetype: { name: issueType(message) },
        labels: [...labels.map((label) => label(message)), alertLabel].sort(),
        ...(shownPriority === "" ? {} : { priority: { name: shownPriority } }),
        project: { key: project(message) },
        ...Object.fromEntries(fields.map(([name, render]) => [name, render(message)])),
      },
    };
  };
}

type DeepRender = (message: ChannelMessage) => unknown;

/** Compiles every string of a nested value as a template. */
function compileDeep(value: unknown, context: ChannelContext): DeepRender {
  if (typeof value === "string") {
    const render: Render = context.text(value);
    return render;
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => compileDeep(item, context));
    return (message) => items.map((render) => render(message));
  }
  if (typeof value !== "object" || value === null) return () => value;
  const entries = Object.entries(value).map(
    ([name, item]) => [context.text(name), compileDeep(item, context)] as const,
  );
  return (message) =>
    Object.fromEntries(entries.map(([name, render]) => [name(message), render(message)]));
}

/** The document that the template rendered, or one with a paragraph per block of text. */
function documentOf(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed.startsWith("{"))
    try {
      return JSON.parse(trimmed) as unknown;
    } catch {
      // Not JSON: the text only begins with a brace.
    }
  return {
    type: "doc",
    version: 1,
    content: trimmed.split(/\n{2,}/).map((block) => ({
      type: "paragraph",
      content: block === "" ? [] : [{ type: "text", text: block }],
    })),
  };
}
