// What programs sign in with.

import { useState } from "preact/hooks";
import { get, post } from "../../api/client";
import type { MadeToken, Token, Tokens as TokenList } from "../../api/types";
import { Command, Panel, Trouble, When } from "../../components/small";
import { useResource } from "../../state/resource";
import { isAdmin } from "../../state/session";
import { field, remove, useDoing } from "./doing";

/// One's own; for an administrator, those of all.
export function Tokens({ all = false }: { all?: boolean }) {
  const path = all ? "/tokens?all=true" : "/tokens";
  const tokens = useResource(path, (signal) => get<TokenList>(path, signal));
  return (
    <Panel title={all ? "Tokens of all users" : "Tokens"}>
      {tokens.value?.tokens.length === 0 && <p class="dim">There are none. Programs sign in with a token.</p>}
      {tokens.value !== undefined && tokens.value.tokens.length > 0 && (
        <div class="wide" role="region" aria-label="Table of tokens" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                {all && <th scope="col">User</th>}
                <th scope="col">Scopes</th>
                <th scope="col">Ends</th>
                <th scope="col">Last use</th>
                <th scope="col">Change</th>
              </tr>
            </thead>
            <tbody>
              {tokens.value.tokens.map((token) => (
                <Row key={token.id} token={token} all={all} changed={tokens.reload} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Trouble error={tokens.error} retry={tokens.reload} />
      {!all && <Make made={tokens.reload} />}
    </Panel>
  );
}

function Row({ token, all, changed }: { token: Token; all: boolean; changed: () => void }) {
  const doing = useDoing();
  const revoke = () => void doing.run(() => remove(`/tokens/${token.id}`)).then((done) => done && changed());
  return (
    <tr>
      <th scope="row">{token.name}</th>
      {all && <td>{token.user}</td>}
      <td>{token.scopes.join(", ")}</td>
      <td>{token.expires ? new Date(token.expires).toLocaleDateString() : "never"}</td>
      <td>{token.used ? <When at={token.used} /> : "never"}</td>
      <td>
        <button type="button" disabled={doing.waits} onClick={revoke} aria-label={`Revoke ${token.name}`}>
          Revoke
        </button>
        <Trouble error={doing.error} />
      </td>
    </tr>
  );
}

const DAY = 86_400;

function Make({ made }: { made: () => void }) {
  const doing = useDoing();
  const [secret, setSecret] = useState<string>();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const days = Number(field(form, "days"));
    const body = {
      name: field(form, "name"),
      scopes: [field(form, "scope")],
      ...(days > 0 ? { expires_seconds: days * DAY } : {}),
    };
    const done = await doing.run(async () => setSecret((await post<MadeToken>("/tokens", body)).token));
    if (!done) return;
    form.reset();
    made();
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <div class="row">
        <label>
          New token
          <input name="name" required placeholder="what it is for" autocomplete="off" />
        </label>
        <label>
          Scope
          <select name="scope">
            <option value="read">read: looks only</option>
            <option value="jobs" selected>
              jobs: submits and ends jobs
            </option>
            {isAdmin() && <option value="admin">admin: all that you may</option>}
          </select>
        </label>
        <label>
          Ends after
          <select name="days">
            <option value="30">30 days</option>
            <option value="90" selected>
              90 days
            </option>
            <option value="365">a year</option>
            <option value="0">never</option>
          </select>
        </label>
        <button type="submit" disabled={doing.waits}>
          Make
        </button>
      </div>
      {secret && (
        <p role="status" class="secret">
          Shown this once; the server keeps its hash only: <Command text={secret} />
        </p>
      )}
      <Trouble error={doing.error} />
    </form>
  );
}
