import { useState } from "preact/hooks";
import { Command, Trouble } from "../components/small";
import { reason, signIn } from "../state/session";

/// For who has no session: name and password, or how to get a one-time link.
export function SignIn() {
  const [error, setError] = useState<unknown>();
  const [waits, setWaits] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setWaits(true);
    setError(undefined);
    try {
      await signIn({ user: String(form.get("user")), password: String(form.get("password")) });
    } catch (refused) {
      setError(refused);
    } finally {
      setWaits(false);
    }
  };
  return (
    <main class="signin">
      <h1>
        <img src="/icon.svg" alt="" width="28" height="28" /> hpvm
      </h1>
      {reason.value && <p role="status">{reason.value}</p>}
      <form onSubmit={(event) => void submit(event)}>
        <label>
          User
          <input name="user" autocomplete="username" required autocapitalize="none" spellcheck={false} />
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit" class="primary" disabled={waits}>
          Sign in
        </button>
        <Trouble error={error} />
      </form>
      <p class="dim">
        Is this your own server? It prints a one-time link when it starts; open that instead. A running one makes a
        new link with
      </p>
      <Command text="hpvm login" />
    </main>
  );
}
