import type { Draft, Field } from "../../model/draft";

export interface FieldProps {
  name: Exclude<Field, "hold">;
  draft: Draft;
  set: (field: Partial<Draft>) => void;
  problem: string | undefined;
}

export interface TextFieldProps extends Omit<FieldProps, "name"> {
  name: Field;
  label: string;
  placeholder?: string;
  inputMode?: "numeric" | "text";
  /// More than one line.
  lines?: number;
  options?: readonly string[] | undefined;
}

/// A labelled field, and under it what is wrong with it.
export function TextField(props: TextFieldProps) {
  const { name, problem } = props;
  const id = `field-${name}`;
  const value = String(props.draft[name]);
  const change = (event: { currentTarget: { value: string } }) => props.set({ [name]: event.currentTarget.value });
  const common = {
    id,
    value,
    "aria-invalid": problem !== undefined,
    "aria-describedby": problem ? `${id}-said` : undefined,
  };
  return (
    <div class={`fieldbox${props.lines ? " long" : ""}`}>
      <label for={id}>{props.label}</label>
      {props.options ? (
        <select {...common} onChange={change}>
          <option value="">default</option>
          {choices(props.options, value).map((each) => (
            <option value={each}>{each}</option>
          ))}
        </select>
      ) : props.lines ? (
        <textarea {...common} rows={props.lines} placeholder={props.placeholder} spellcheck={false} onInput={change} />
      ) : (
        <input
          {...common}
          placeholder={props.placeholder}
          inputMode={props.inputMode}
          autocomplete="off"
          spellcheck={false}
          onInput={change}
        />
      )}
      {problem && (
        <p id={`${id}-said`} class="said">
          {problem}
        </p>
      )}
    </div>
  );
}

/// A queue that is gone stays chosen until somebody chooses another.
function choices(options: readonly string[], value: string): readonly string[] {
  return value && !options.includes(value) ? [...options, value] : options;
}
