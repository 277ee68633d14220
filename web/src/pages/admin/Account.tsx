// One's own password and tokens.

import { useState } from "preact/hooks";
import { Panel, Trouble } from "../../components/small";
import { session } from "../../state/session";
import { field, put, useDoing } from "./doing";
import { Tokens } from "./Tokens";

export function Account() {
  return (
    <div class="fill admin">
      <h1>{session.value?.user}</h1>
      <p class="dim">Role: {session.value?.roles[0]}</p>
      <Password />
      <Tokens />
    </div>
  );
}

function Password() {
  const doing = useDoing();
  const [done, setDone] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const old = field(form, "old");
    setDone(false);
    const set = await doing.run(() => put("/session/password", { new: field(form, "new"), ...(old ? { old } : {}) }));
    setDone(set);
    if (set) form.reset();
  };
  return (
    <Panel title="Password">
      <form onSubmit={(event) => void submit(event)}>
        <div class="row">
          <label>
            Present password
            <input name="old" type="password" autocomplete="current-password" placeholder="none, if none was set" />
          </label>
          <label>
            New password
            <input name="new" type="password" autocomplete="new-password" required minLength={8} />
          </label>
          <button type="submit" disabled={doing.waits}>
            Set
          </button>
        </div>
        {done && <p role="status">Set. All other sessions, and sign-ins of commands, have ended.</p>}
        <Trouble error={doing.error} />
      </form>
    </Panel>
  );
}
