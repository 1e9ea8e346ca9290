/** Firing alerts in their notification groups, the most severe first; silenced and inhibited alerts with the reason. */
import { runbookHref } from "../../format/runbook-link.ts";
import { formatAge } from "../../../../src/view/age.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { knownGpus, storeAsked, useKnownGpus } from "../../query/known-gpus.ts";
import { type FetchState, useJson } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Explain } from "../../ui/explain.tsx";
import { Labels } from "../../ui/labels.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant } from "../../view-state/range.ts";
import {
  type ApiAlertGroup,
  type ApiRuleAlert,
  type GettableAlert,
  type GettableSilence,
  type LabelMap,
  levelOf,
} from "./api.ts";
import { matchersFor, pendingSilence } from "./silence-dialog.tsx";

interface RawAlerts {
  readonly data: { readonly alerts: readonly ApiRuleAlert[] };
}

export function Now({
  groups,
  silences,
}: {
  groups: FetchState<readonly ApiAlertGroup[]>;
  silences: readonly GettableSilence[];
}) {
  const raw = useJson<RawAlerts>("api/v1/alerts", 5_000);
  useKnownGpus();
  const pending = (raw.value?.data.alerts ?? []).filter(({ state }) => state === "pending");
  if (groups.error !== undefined && groups.error.status !== 0)
    return <Elsewhere says={groups.error.message} alerts={raw.value?.data.alerts ?? []} />;
  if (groups.value === undefined) return <p class="waiting">Loading…</p>;
  const byPrint = new Map(
    groups.value.flatMap(({ alerts }) => alerts.map((alert) => [alert.fingerprint, alert])),
  );
  const all = [...byPrint.values()];
  const [loud, quiet] = split(groups.value);
  if (all.length === 0 && pending.length === 0 && knownGpus.value.length === 0)
    return storeAsked.value ? <NoGpus /> : <p class="waiting">Loading…</p>;
  return (
    <>
      <Summary all={all} pending={pending.length} />
      {loud.map((group) => (
        <Group key={keyOf(group)} {...{ group, byPrint, silences }} />
      ))}
      {pending.length > 0 && <Pending alerts={pending} />}
      {quiet.length > 0 && (
        <section>
          <h2 class="section">Silenced and inhibited</h2>
          {quiet.map((group) => (
            <Group key={keyOf(group)} {...{ group, byPrint, silences }} />
          ))}
        </section>
      )}
      {all.length === 0 && pending.length === 0 && (
        <Empty title="No alert is firing.">
          <a href={hrefOf("alerts", { tab: "rules" })}>Rules</a> lists all rules with their last
          evaluation.
        </Empty>
      )}
    </>
  );
}

/** Without a GPU the rules have no input, so the absence of alerts means nothing. */
const NoGpus = () => (
  <Empty title="No GPU has reported to this hub: its rules have nothing to check.">
    <a href={hrefOf("fleet")}>Add a machine</a>
  </Empty>
);

const keyOf = ({ labels, receiver }: ApiAlertGroup): string =>
  `${receiver.name} ${JSON.stringify(labels)}`;

/** Splits each group into its active and its suppressed alerts; worst first. */
function split(groups: readonly ApiAlertGroup[]): [ApiAlertGroup[], ApiAlertGroup[]] {
  const part = (suppressed: boolean): ApiAlertGroup[] =>
    groups
      .map((group) => ({
        ...group,
        alerts: group.alerts.filter(({ status }) => (status.state === "suppressed") === suppressed),
      }))
      .filter(({ alerts }) => alerts.length > 0)
      .sort((one, other) => rank(one) - rank(other));
  return [part(false), part(true)];
}

const ranks = { bad: 0, warn: 1, note: 2 } as const;
const rank = ({ alerts }: ApiAlertGroup): number =>
  Math.min(...alerts.map(({ labels }) => ranks[levelOf(labels["severity"])]));

function Summary({ all, pending }: { all: readonly GettableAlert[]; pending: number }) {
  const active = all.filter(({ status }) => status.state !== "suppressed");
  if (active.length === 0)
    return (
      <Banner level={pending === 0 ? "good" : "note"} title="Nothing needs attention.">
        {[
          pending === 0 ? "" : `${pending} pending`,
          all.length === 0 ? "" : `${all.length} silenced or inhibited`,
        ]
          .filter((part) => part !== "")
          .join(", ")}
      </Banner>
    );
  const level = active.some(({ labels }) => levelOf(labels["severity"]) === "bad") ? "bad" : "warn";
  const counted = new Map<string, number>();
  for (const { labels } of active)
    counted.set(
      labels["severity"] ?? "other",
      (counted.get(labels["severity"] ?? "other") ?? 0) + 1,
    );
  return (
    <Banner
      level={level}
      title={`${active.length} ${active.length === 1 ? "alert" : "alerts"} firing`}
    >
      {[...counted].map(([name, count]) => `${count} ${name}`).join(", ")}
      {all.length > active.length && `; ${all.length - active.length} silenced or inhibited`}
    </Banner>
  );
}

function Group({
  group,
  byPrint,
  silences,
}: {
  group: ApiAlertGroup;
  byPrint: ReadonlyMap<string, GettableAlert>;
  silences: readonly GettableSilence[];
}) {
  const name = group.labels["alertname"];
  const title =
    name ?? (Object.keys(group.labels).length === 0 ? "All alerts" : describe(group.labels));
  return (
    <section class="alert-group" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <Labels labels={group.labels} without={["alertname"]} />
        <span class="spacer" />
        <span class="unit">notifies {group.receiver.name}</span>
        {group.alerts.length > 1 && (
          <button
            type="button"
            class="quiet changes"
            onClick={() => {
              pendingSilence.value = { title, matchers: matchersFor(group.labels) };
            }}
          >
            Silence group
          </button>
        )}
      </header>
      <ul class="alerts">
        {group.alerts.map((alert) => (
          <Row
            key={alert.fingerprint}
            {...{ alert, byPrint, silences }}
            without={Object.keys(group.labels)}
          />
        ))}
      </ul>
    </section>
  );
}

const outside = { target: "_blank", rel: "noreferrer" };

const describe = (labels: LabelMap): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

function Row({
  alert,
  byPrint,
  silences,
  without,
}: {
  alert: GettableAlert;
  byPrint: ReadonlyMap<string, GettableAlert>;
  silences: readonly GettableSilence[];
  without: readonly string[];
}) {
  const { labels, annotations, status, startsAt } = alert;
  const name = labels["alertname"] ?? "alert";
  const suppressed = status.state === "suppressed";
  const level = suppressed ? undefined : levelOf(labels["severity"]);
  const runbook = runbookHref(annotations["runbook_url"]);
  return (
    <li data-level={level} data-alert={name}>
      <p class="what">
        <span class={`word ${level === undefined || level === "note" ? "" : level}`}>
          {labels["severity"] ?? "alert"}
        </span>
        <strong>{annotations["summary"] ?? annotations["title"] ?? name}</strong>
      </p>
      <p class="since" data-tip={formatInstant(Date.parse(startsAt))}>
        for {formatAge(hubTimeMs() - Date.parse(startsAt))}
      </p>
      <p class="row actions">
        <a class="quiet" href={hrefOf("alerts", { tab: "rules", rule: name })}>
          Chart
        </a>
        {runbook !== undefined && (
          <a class="quiet" href={runbook} {...(runbook.startsWith("http") ? outside : {})}>
            Runbook
          </a>
        )}
        {status.silencedBy.length === 0 && (
          <button
            type="button"
            class="quiet changes"
            aria-label={`Silence ${name}`}
            onClick={() => {
              pendingSilence.value = { title: name, matchers: matchersFor(labels) };
            }}
          >
            Silence
          </button>
        )}
      </p>
      <div class="more">
        {annotations["description"] !== undefined && <p>{annotations["description"]}</p>}
        {suppressed && <Why {...{ alert, byPrint, silences }} />}
        {(labels["uuid"] ?? labels["host"]) !== undefined && (
          <Explain kind="alert" id={alert.fingerprint} />
        )}
        <Labels labels={labels} without={["alertname", "severity", "summary", ...without]} />
      </div>
    </li>
  );
}

/** The silence or inhibition that suppresses the alert. */
function Why({
  alert: { status },
  byPrint,
  silences,
}: {
  alert: GettableAlert;
  byPrint: ReadonlyMap<string, GettableAlert>;
  silences: readonly GettableSilence[];
}) {
  return (
    <p class="why">
      {status.silencedBy.map((id) => {
        const silence = silences.find((one) => one.id === id);
        return (
          <span key={id} data-by="silence">
            <span class="word">silenced</span>{" "}
            {silence === undefined
              ? id
              : `until ${formatInstant(Date.parse(silence.endsAt)).slice(0, 16)} by ${silence.createdBy}: ${silence.comment}`}
          </span>
        );
      })}
      {status.inhibitedBy.map((id) => {
        const by = byPrint.get(id);
        return (
          <span key={id} data-by="inhibition">
            <span class="word">inhibited</span> by{" "}
            {by === undefined
              ? id
              : `${by.labels["alertname"] ?? "alert"}${by.annotations["summary"] === undefined ? "" : `: ${by.annotations["summary"]}`}`}
          </span>
        );
      })}
    </p>
  );
}

function Pending({ alerts }: { alerts: readonly ApiRuleAlert[] }) {
  return (
    <section>
      <h2 class="section">Pending: waiting for the “for” of the rule</h2>
      <ul class="alerts">
        {alerts.map(({ labels, annotations, activeAt }) => (
          <li key={JSON.stringify(labels)} data-alert={labels["alertname"]}>
            <p class="what">
              <span class="word">pending</span>
              <strong>{annotations["summary"] ?? labels["alertname"]}</strong>
            </p>
            <p class="since">for {formatAge(hubTimeMs() - Date.parse(activeAt))}</p>
            <p class="row actions">
              <a
                class="quiet"
                href={hrefOf("alerts", { tab: "rules", rule: labels["alertname"] ?? "" })}
              >
                Chart
              </a>
            </p>
            <div class="more">
              <Labels labels={labels} without={["alertname", "severity"]} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** An external Alertmanager routes the alerts: only firing alerts are known here, notifications only there. */
function Elsewhere({ says, alerts }: { says: string; alerts: readonly ApiRuleAlert[] }) {
  const firing = alerts.filter(({ state }) => state === "firing");
  return (
    <>
      <Banner level="note" title="Routed elsewhere.">
        {says}
      </Banner>
      {firing.length === 0 ? (
        <Empty title="No alert is firing." />
      ) : (
        <ul class="alerts">
          {firing.map(({ labels, annotations, activeAt }) => (
            <li key={JSON.stringify(labels)} data-level={levelOf(labels["severity"])}>
              <p class="what">
                <span class="word">{labels["severity"] ?? "alert"}</span>
                <strong>{annotations["summary"] ?? labels["alertname"]}</strong>
              </p>
              <p class="since">for {formatAge(hubTimeMs() - Date.parse(activeAt))}</p>
              <div class="more">
                <Labels labels={labels} without={["severity"]} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
