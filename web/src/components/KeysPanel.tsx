import { useEffect, useRef } from "preact/hooks";
import { enabled, groups, useKeys } from "../keys/keys";

/// The list of keys, beside the page and not over it.
export function KeysPanel({ close }: { close: () => void }) {
  const panel = useRef<HTMLElement>(null);
  const before = useRef(document.activeElement);
  useKeys("This panel", [{ keys: "Escape", does: "close it", run: close }]);
  useEffect(() => {
    panel.current?.focus();
    return () => (before.current as HTMLElement | null)?.focus?.();
  }, []);
  return (
    <aside class="keys" aria-label="Keys" ref={panel} tabIndex={-1}>
      <header>
        <h2>Keys</h2>
        <button type="button" onClick={close}>
          Close
        </button>
      </header>
      {groups.value.map((group) => (
        <section>
          <h3>{group.title}</h3>
          <dl>
            {group.keys.map((key) => (
              <div>
                <dt>{key.keys.split(" ").map((part) => <kbd>{part}</kbd>)}</dt>
                <dd>{key.does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={enabled.value !== "off"}
          onChange={(event) => (enabled.value = event.currentTarget.checked ? "" : "off")}
        />
        Keys of one letter
      </label>
    </aside>
  );
}
