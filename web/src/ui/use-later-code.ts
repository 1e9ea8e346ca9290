/** Code of a component that the first drawing does not need: loaded after it, so that the first chart does not wait for it. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export interface LaterCode<Props> {
  /** Undefined until it is loaded. */
  readonly Loaded: ComponentType<Props> | undefined;
  readonly isMissing: boolean;
}

export function useLaterCode<Props>(load: () => Promise<ComponentType<Props>>): LaterCode<Props> {
  const [code, setCode] = useState<LaterCode<Props>>({ Loaded: undefined, isMissing: false });
  // Effects run after the frame.
  useEffect(() => {
    let left = false;
    load().then(
      (Loaded) => left || setCode({ Loaded, isMissing: false }),
      () => left || setCode({ Loaded: undefined, isMissing: true }),
    );
    return () => {
      left = true;
    };
  }, []);
  return code;
}
