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

const later = () => import("./pages/later");

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
    case "reports":
      return <Later load={later} show={({ Reports }) => <Reports />} />;
    case "report":
      return <Later key={route.id} load={later} show={({ Report }) => <Report id={route.id} />} />;
    case "comparison":
      return <Later load={later} show={({ Comparison }) => <Comparison />} />;
    case "account":
      return <Later load={later} show={({ Account }) => <Account />} />;
    case "administration":
      return <Later load={later} show={({ Administration }) => <Administration />} />;
    case "nothing":
      return <Nothing path={route.path} />;
  }
}
