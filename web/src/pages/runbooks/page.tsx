/** The runbooks: what each alert means, what to check and how to fix it. Served by the hub itself; nothing is loaded from elsewhere. */
import { useState } from "preact/hooks";
import { useTitle } from "../../app/title.ts";
import { useAlerts } from "../../query/alerts.ts";
import { docsHref } from "../../query/me.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { optional, Param } from "../../view-state/param.ts";
import type { RunbookChapterView, RunbookSectionView } from "./api.ts";
import { type MarkdownPart, parseMarkdown, resolveRunbookLink } from "./markdown.ts";
import "./runbooks.css";

const alertParam = new Param("alert", optional, "push");

export function Page() {
  const { value, error } = useJson<{ readonly chapters: readonly RunbookChapterView[] }>(
    "api/runbook",
  );
  const wanted = alertParam.value?.toLowerCase();
  const chapters = value?.chapters ?? [];
  const section = chapters
    .flatMap(({ sections }) => sections)
    .find(({ alert }) => alert.toLowerCase() === wanted);
  useTitle(section === undefined ? undefined : `Runbook: ${section.alert}`);
  if (value === undefined)
    return error === undefined || error.status === 0 ? (
      <p class="waiting">Reading the runbooks…</p>
    ) : (
      <Banner level="bad" title="The runbooks cannot be read.">
        {error.message}
      </Banner>
    );
  if (wanted === undefined) return <List chapters={chapters} />;
  return section === undefined ? (
    <Empty title={`The runbooks have no alert ${wanted}.`}>
      <a href={hrefOf("runbooks")}>All runbooks</a>
    </Empty>
  ) : (
    <Section section={section} />
  );
}

function List({ chapters }: { chapters: readonly RunbookChapterView[] }) {
  const [text, setText] = useState("");
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = chapters
    .map(({ title, sections }) => ({
      title,
      sections: sections.filter((one) =>
        words.every((word) => one.text.toLowerCase().includes(word)),
      ),
    }))
    .filter(({ sections }) => sections.length > 0);
  return (
    <div class="runbooks">
      <div class="bar-line">
        <h2 class="page-title">Runbooks</h2>
        <input
          class="input"
          type="search"
          placeholder="fan, power, Xid 79"
          aria-label="Find in the runbooks"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      {found.length === 0 && <Empty title={`No runbook mentions ${text}.`} />}
      {found.map(({ title, sections }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {sections.map((one) => (
              <div key={one.alert}>
                <dt>
                  <a href={hrefOf("runbooks", { alert: one.alert.toLowerCase() })}>{one.alert}</a>
                </dt>
                <dd>{meaningOf(one)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

/** The first sentence of its meaning. */
function meaningOf({ text }: RunbookSectionView): string {
  const parts = parseMarkdown(text)[0]?.parts ?? [];
  const plain = parts
    .filter(({ kind }) => kind !== "bold")
    .map((part) => part.text)
    .join("")
    .trim();
  const sentence = /^.*?\.(?=\s|$)/s.exec(plain)?.[0] ?? plain;
  return sentence.replace(/^Information: (.)/, (_, first: string) => first.toUpperCase());
}

function Section({ section: { alert, text } }: { section: RunbookSectionView }) {
  const firing = (useAlerts().value ?? []).filter(
    ({ labels, state }) => labels["alertname"] === alert && state === "firing",
  ).length;
  const blocks = parseMarkdown(text);
  return (
    <article class="runbooks">
      <p class="back">
        <a href={hrefOf("runbooks")}>All runbooks</a>
      </p>
      <h2 class="page-title">{alert}</h2>
      <p class="row">
        {firing > 0 && (
          <span class="word warn">fires {firing === 1 ? "once" : `${firing} times`}</span>
        )}
        <a href={hrefOf("alerts")}>Alerts</a>
        <a href={hrefOf("alerts", { tab: "rules", rule: alert })}>Rule and chart</a>
      </p>
      {blocks.map(({ kind, parts }, at) =>
        kind === "item" ? (
          <ul key={at}>
            <li>
              <Parts parts={parts} />
            </li>
          </ul>
        ) : (
          <p key={at} class="prose">
            <Parts parts={parts} />
          </p>
        ),
      )}
    </article>
  );
}

const Parts = ({ parts }: { parts: readonly MarkdownPart[] }) => (
  <>
    {parts.map((part, at) =>
      part.kind === "bold" ? (
        <strong key={at}>{part.text}</strong>
      ) : part.kind === "code" ? (
        <code key={at}>{part.text}</code>
      ) : part.kind === "link" ? (
        <Link key={at} text={part.text} href={part.href} />
      ) : (
        part.text
      ),
    )}
  </>
);

/** Links to the documentation only if this hub serves it. */
function Link({ text, href }: { text: string; href: string }) {
  const link = resolveRunbookLink(href);
  if (link?.kind === "section")
    return <a href={hrefOf("runbooks", { alert: link.alert })}>{text}</a>;
  if (link?.kind === "docs" && docsHref.value !== undefined)
    return <a href={`${docsHref.value}${link.path}`}>{text}</a>;
  if (link?.kind === "web")
    return (
      <a href={link.href} target="_blank" rel="noreferrer">
        {text}
      </a>
    );
  return <>{text}</>;
}
