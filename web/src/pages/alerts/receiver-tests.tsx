/** Sends a test notification to a receiver and shows the result of each of its channels. */
import { useState } from "preact/hooks";
import { ApiError, send } from "../../query/http.ts";
import { useJson } from "../../query/use-fetch.ts";

interface ChannelTestResult {
  readonly channel: string;
  readonly index: number;
  readonly ok: boolean;
  readonly tookMs: number;
  readonly why?: string;
}

type ReceiverTestState =
  | { readonly ways: readonly ChannelTestResult[] }
  | { readonly problem: string };

export function ReceiverTests() {
  const receivers = useJson<readonly { readonly name: string }[]>("api/v2/receivers");
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, ReceiverTestState | "busy">>(
    new Map(),
  );
  const names = receivers.value ?? [];
  if (names.length === 0) return null;
  const setOutcome = (receiver: string, outcome: ReceiverTestState | "busy"): void =>
    setOutcomes((before) => new Map(before).set(receiver, outcome));
  const test = async (receiver: string): Promise<void> => {
    setOutcome(receiver, "busy");
    try {
      setOutcome(
        receiver,
        (await send("POST", "api/alerts/test", { receiver })) as ReceiverTestState,
      );
    } catch (thrown) {
      setOutcome(receiver, {
        problem: thrown instanceof ApiError ? thrown.message : String(thrown),
      });
    }
  };
  return (
    <section aria-label="Receivers">
      <h2 class="section">Receivers</h2>
      <ul class="receivers">
        {names.map(({ name }) => {
          const outcome = outcomes.get(name);
          return (
            <li key={name}>
              <strong>{name}</strong>
              <button
                type="button"
                class="quiet"
                aria-label={`Send a test to ${name}`}
                disabled={outcome === "busy"}
                onClick={() => void test(name)}
              >
                Send a test
              </button>
              <span role="status">
                {outcome !== undefined && <TestResultText outcome={outcome} />}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function TestResultText({ outcome }: { outcome: ReceiverTestState | "busy" }) {
  if (outcome === "busy") return <span class="unit">sending…</span>;
  if ("problem" in outcome) return <span class="warn">{outcome.problem}</span>;
  return outcome.ways.map(({ channel, index, ok, tookMs, why }) => (
    <span key={`${channel}${index}`} class={ok ? "" : "warn"}>
      {channel}: {ok ? `delivered after ${tookMs} ms` : (why ?? "failed")}{" "}
    </span>
  ));
}
