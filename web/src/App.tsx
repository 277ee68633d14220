import { Shell } from "./components/Shell";
import { Later } from "./components/Later";
import { HostPage } from "./pages/Host";
import { Hosts } from "./pages/Hosts";
import { JobPage } from "./pages/job/Job";
import { Jobs } from "./pages/Jobs";
import { Nothing } from "./pages/Nothing";
import { Overview } from "./pages/Overview";
import { SignIn } from "./pages/SignIn";
import { Submit } from "./pages/Submit";
import { route, type Route } from "./state/route";
import { session } from "./state/session";

const admin = () => import("./pages/admin/pages");

export function App() {
  if (session.value === undefined) return null;
  if (session.value === null) return <SignIn />;
  return (
    <Shell>
      <Page route={route.value} />
    </Shell>
  );
}

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "overview":
      return <Overview />;
    case "jobs":
      return <Jobs />;
    case "job":
      return <JobPage key={route.id} id={route.id} tab={route.tab} />;
    case "submit":
      return <Submit />;
    case "hosts":
      return <Hosts />;
    case "host":
      return <HostPage key={route.name} name={route.name} />;
    case "account":
      return <Later load={admin} show={({ Account }) => <Account />} />;
    case "administration":
      return <Later load={admin} show={({ Administration }) => <Administration />} />;
    case "nothing":
      return <Nothing path={route.path} />;
  }
}
