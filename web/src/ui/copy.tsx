/** Text with a button that copies it; if the browser forbids that, the text is selected instead. */
import { useRef, useState } from "preact/hooks";
import { toast } from "./toast.ts";

/** Confirms the copy, or explains what to do if the browser forbids it. */
export async function copyToClipboard(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    toast(`The browser does not let this page use the clipboard. Copy it here: ${text}`, "bad");
  }
}

export function CopyText({ text, label }: { text: string; label: string }) {
  const shown = useRef<HTMLPreElement>(null);
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 2_000);
    } catch {
      // Not a secure context, or not allowed: with the text selected, the user only has to press Ctrl+C.
      if (shown.current !== null) getSelection()?.selectAllChildren(shown.current);
    }
  };
  return (
    <div class="copy">
      <pre ref={shown} tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <button type="button" class="quiet" aria-label={`Copy ${label}`} onClick={() => void copy()}>
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
