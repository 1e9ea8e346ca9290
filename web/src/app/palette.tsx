/** One field that finds pages, GPUs, hosts, metrics, ranges and actions. Arrow keys select, Enter opens. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { PaletteProps } from "./palette-loader.tsx";
import { paletteEntries, matchEntries } from "./palette-entries.ts";

export function Palette({ close }: PaletteProps) {
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const [all] = useState(paletteEntries);
  const list = useRef<HTMLUListElement>(null);
  const found = matchEntries(all, typed);
  const at = Math.min(chosen, Math.max(0, found.length - 1));
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at, typed]);
  const go = (index: number): void => {
    const entry = found[index];
    if (entry === undefined) return;
    close();
    entry.run();
  };
  return (
    <>
      <input
        type="text"
        class="palette-field"
        role="combobox"
        aria-label="Search pages, GPUs, hosts, metrics, ranges and actions"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length === 0 ? undefined : `palette-${at}`}
        placeholder="Page, GPU, host, metric, range, action"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined) setChosen((at + step + found.length) % Math.max(1, found.length));
          else if (event.key === "Enter") go(at);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Found" ref={list}>
        {found.map(({ kind, label, more }, index) => (
          <li
            key={`${kind} ${label} ${more ?? ""}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onPointerMove={() => setChosen(index)}
            onClick={() => go(index)}
          >
            <span class="unit">{kind}</span>
            <span>{label}</span>
            {more !== undefined && <span class="unit more">{more}</span>}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="unit">No results.</p>}
    </>
  );
}
