/** The terms of errors and slowdowns explained, beside the charts that show them. */
import { useState } from "preact/hooks";
import { searchDictionary } from "../../../../src/view/dictionary.ts";

export function Dictionary() {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState("");
  return (
    <details class="dictionary" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Dictionary of Xid errors, ECC and throttle reasons</summary>
      {isOpen && (
        <>
          <input
            class="input"
            type="search"
            placeholder="79, power brake, row remap"
            aria-label="Search the dictionary"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <dl>
            {searchDictionary(text).map(({ term, meaning, action }) => (
              <div key={term}>
                <dt>{term}</dt>
                <dd>
                  {meaning}
                  {action !== undefined && <span class="unit"> Action: {action}</span>}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </details>
  );
}
