// What administrators lay down: users, tokens, limits, hosts, and the log of changes.

import { Empty } from "../../components/small";
import { isAdmin } from "../../state/session";
import { Audit } from "./Audit";
import { Draining, Limits } from "./Rules";
import { Tokens } from "./Tokens";
import { Users } from "./Users";

export function Administration() {
  if (!isAdmin()) return <Empty title="Only administrators see this page." />;
  return (
    <div class="fill admin">
      <h1 class="hidden">Administration</h1>
      <Users />
      <Limits />
      <Draining />
      <Tokens all />
      <Audit />
    </div>
  );
}
