// Who may use the server.

import { useState } from "preact/hooks";
import { get, post } from "../../api/client";
import type { Link, Role, User, Users as UserList } from "../../api/types";
import { Command, Panel, Trouble } from "../../components/small";
import { useResource } from "../../state/resource";
import { field, put, remove, useDoing } from "./doing";

const ROLES: readonly Role[] = ["admin", "user", "viewer"];
const path = (name: string) => `/users/${encodeURIComponent(name)}`;

export function Users() {
  const users = useResource("/users", (signal) => get<UserList>("/users", signal));
  const [link, setLink] = useState<string>();
  return (
    <Panel title="Users">
      <div class="wide" role="region" aria-label="Table of users" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">User</th>
              <th scope="col">Role</th>
              <th scope="col">Password</th>
              <th scope="col">Change</th>
            </tr>
          </thead>
          <tbody>
            {users.value?.users.map((user) => (
              <Row key={user.name} user={user} changed={users.reload} linked={setLink} />
            ))}
          </tbody>
        </table>
      </div>
      {link && (
        <p role="status">
          Signs in once, within an hour: <Command text={link} />
        </p>
      )}
      <Trouble error={users.error} retry={users.reload} />
      <Add added={users.reload} linked={setLink} />
    </Panel>
  );
}

function Row({ user, changed, linked }: { user: User; changed: () => void; linked: (url: string) => void }) {
  const doing = useDoing();
  const [asked, setAsked] = useState(false);
  const role = (next: string) => void doing.run(() => put(`${path(user.name)}/role`, { role: next })).then(changed);
  const gone = () => void doing.run(() => remove(path(user.name))).then((done) => done && changed());
  const link = () => void doing.run(async () => linked((await post<Link>(`${path(user.name)}/link`)).url));
  return (
    <tr>
      <th scope="row">{user.name}</th>
      <td>
        {user.owner ? (
          "admin, has started the server"
        ) : (
          <select aria-label={`Role of ${user.name}`} value={user.role} disabled={doing.waits} onChange={(event) => role(event.currentTarget.value)}>
            {ROLES.map((name) => (
              <option value={name}>{name}</option>
            ))}
          </select>
        )}
      </td>
      <td>{user.has_password ? "set" : "none"}</td>
      <td>
        <span class="inline">
          <button type="button" disabled={doing.waits} onClick={link} aria-label={`Make a link for ${user.name}`}>
            Make a link
          </button>
          {!user.owner && !asked && (
            <button type="button" disabled={doing.waits} onClick={() => setAsked(true)} aria-label={`Remove ${user.name}`}>
              Remove
            </button>
          )}
          {asked && (
            <button type="button" class="danger" disabled={doing.waits} onClick={gone}>
              Remove {user.name}, end their sessions
            </button>
          )}
        </span>
        <Trouble error={doing.error} />
      </td>
    </tr>
  );
}

function Add({ added, linked }: { added: () => void; linked: (url: string) => void }) {
  const doing = useDoing();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const [name, role, password] = [field(form, "name"), field(form, "role"), field(form, "password")];
    const done = await doing.run(async () => {
      await post<User>("/users", { name, role, ...(password ? { password } : {}) });
      if (!password) linked((await post<Link>(`${path(name)}/link`)).url);
    });
    if (!done) return;
    form.reset();
    added();
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <div class="row">
        <label>
          New user
          <input name="name" required autocapitalize="none" autocomplete="off" spellcheck={false} />
        </label>
        <label>
          Role
          <select name="role">
            <option>user</option>
            <option>viewer</option>
            <option>admin</option>
          </select>
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="new-password" placeholder="none: make a link" />
        </label>
        <button type="submit" disabled={doing.waits}>
          Add
        </button>
      </div>
      <Trouble error={doing.error} />
    </form>
  );
}
