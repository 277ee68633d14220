import { useState } from "preact/hooks";
import type { Draft, Field } from "../../model/draft";
import { TextField, type TextFieldProps } from "./TextField";

/// The server takes scripts of a MiB; a larger file is not read at all.
const MOST_BYTES = 1 << 20;

interface Props {
  field: (name: Field) => Pick<TextFieldProps, "name" | "draft" | "set" | "problem">;
  draft: Draft;
  set: (field: Partial<Draft>) => void;
}

/// What runs: a command, or a script that is typed or taken from a file.
export function ProgramFields({ field, draft, set }: Props) {
  const [refused, setRefused] = useState("");
  const take = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    input.value = "";
    if (!file) return;
    const large = file.size > MOST_BYTES;
    setRefused(large ? `${file.name} is larger than a script may be (1 MiB); start it by a short one.` : "");
    if (!large) set({ script: await file.text(), name: file.name.replace(/\.[a-z]+$/, "") });
  };
  return (
    <fieldset>
      <legend>What</legend>
      <div class="bar" role="group" aria-label="Kind">
        {(["command", "script"] as const).map((kind) => (
          <button type="button" class="chip" aria-pressed={draft.kind === kind} onClick={() => set({ kind })}>
            {kind}
          </button>
        ))}
        {draft.kind === "script" && (
          <label class="button file">
            From a file
            <input type="file" onChange={(event) => void take(event.currentTarget)} />
          </label>
        )}
      </div>
      {draft.kind === "command" ? (
        <TextField {...field("command")} label="Program and arguments" placeholder="./poisson 256" />
      ) : (
        <>
          {refused && (
            <p class="said" role="alert">
              {refused}
            </p>
          )}
          <TextField {...field("script")} label="Script" lines={10} placeholder={"#!/bin/sh\nmpirun ./poisson 256"} />
          <TextField {...field("args")} label="Arguments of the script" />
        </>
      )}
    </fieldset>
  );
}
