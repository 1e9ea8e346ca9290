/**
 * Notification channels, as forms generated from their schemas. The page never writes the hub's files: it shows the lines for
 * alertmanager.yml, reloads the file on request, and sends a test.
 */
import { useState } from "preact/hooks";
import { send } from "../../query/http.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Banner } from "../../ui/banner.tsx";
import { CopyText } from "../../ui/copy.tsx";
import { SchemaForm } from "../../ui/form.tsx";
import type { FormValue, Schema } from "../../ui/form-fields.ts";
import { attempt } from "../../ui/attempt.ts";
import { toast } from "../../ui/toast.ts";
import { ReceiverTests } from "../alerts/receiver-tests.tsx";
import { receiverYaml } from "./receiver-yaml.ts";

interface ChannelForm {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly key: string;
  readonly example: string;
  readonly schema: Schema & { readonly properties: Readonly<Record<string, Field>> };
}
type Field = Schema & { readonly "x-field"?: string };

export function Channels() {
  const answer = useJson<{ readonly channels: readonly ChannelForm[] }>("api/alerts/channels");
  const [name, setName] = useState("email");
  const [round, setRound] = useState(0);
  if (answer.error !== undefined && answer.error.status !== 0)
    return (
      <Banner level="note" title="Channels are set up elsewhere.">
        {answer.error.message}
      </Banner>
    );
  const forms = answer.value?.channels ?? [];
  const form = forms.find((one) => one.name === name) ?? forms[0];
  return (
    <>
      <ReceiverTests key={round} />
      <h2 class="section">Set up a channel</h2>
      <div class="channels">
        <ul aria-label="Channels">
          {forms.map((one) => (
            <li key={one.name}>
              <button
                type="button"
                aria-pressed={one === form}
                data-tip={one.summary}
                onClick={() => setName(one.name)}
              >
                {one.title}
              </button>
            </li>
          ))}
        </ul>
        {form !== undefined && (
          <Channel key={form.name} form={form} onReloaded={() => setRound(round + 1)} />
        )}
      </div>
    </>
  );
}

function Channel({ form, onReloaded }: { form: ChannelForm; onReloaded: () => void }) {
  const [all, setAll] = useState(false);
  const [receiver, setReceiver] = useState("team");
  const [made, setMade] = useState<FormValue | undefined>(undefined);
  const reload = (): void => {
    void attempt(
      () => send("POST", "-/reload"),
      () => {
        toast("The configuration is reloaded.");
        onReloaded();
      },
    );
  };
  return (
    <div class="channel">
      <p class="unit">{form.summary}</p>
      <div class="field">
        <label class="name-of" for="receiver">
          Name of the receiver
        </label>
        <input
          id="receiver"
          type="text"
          value={receiver}
          onInput={(event) => setReceiver(event.currentTarget.value)}
        />
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={all}
          onChange={(event) => setAll(event.currentTarget.checked)}
        />
        all settings
      </label>
      <SchemaForm
        schema={all ? form.schema : essential(form)}
        submit="Show YAML"
        onSubmit={(value) => {
          setMade(value);
          return undefined;
        }}
      />
      {made !== undefined && (
        <div role="status">
          <p>
            Add this to the alertmanager.yml of the hub (<code>--alertmanager-config</code>), and
            name the receiver in a route. gpulse does not write the file.
          </p>
          <CopyText
            label="the YAML for alertmanager.yml"
            text={receiverYaml(receiver, form.key, made, form.schema)}
          />
          <p class="row">
            <button type="button" class="quiet" onClick={reload}>
              Reload configuration
            </button>
            <span class="unit">then send a test above</span>
          </p>
        </div>
      )}
    </div>
  );
}

/** The settings of the example and the required ones; the rest has good defaults. */
function essential({ schema, example }: ChannelForm): Schema {
  const named = new Set([...example.matchAll(/^(\w+):/gm)].map(([, name]) => name));
  const properties = Object.fromEntries(
    Object.entries(schema.properties).filter(
      ([name]) => named.has(name) || schema.required?.includes(name) === true,
    ),
  );
  return { ...schema, properties };
}
