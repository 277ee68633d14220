//! `hpvm simulate failures`: years of jobs whose hosts and processes fail.

use hpvm_simulate::failures::{Lives, Plan, run};
use serde_json::json;

use super::args::{Asked, Form};
use super::said;

/// Ranks of the simulated jobs, two on each host, where nothing is said.
const RANKS: u32 = 8;

pub fn text(asked: &Asked) -> Result<String, String> {
    let ranks = if asked.says_ranks { asked.ranks[0] } else { RANKS };
    let hosts = asked.hosts.unwrap_or(ranks.div_ceil(2));
    let plan = Plan { days: asked.days, hosts, per_host: ranks / hosts.max(1), seed: asked.seed };
    let lives = run(plan).map_err(said)?;
    Ok(match asked.form {
        Form::Json => json(&plan, &lives).to_string() + "\n",
        _ => shown(&plan, &lives),
    })
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn mean(lives: &Lives) -> f64 {
    seconds(lives.sum) / (lives.hosts_lost + lives.processes_lost).max(1) as f64
}

fn shown(plan: &Plan, lives: &Lives) -> String {
    let Lives { messages, came, computations, cuts, hosts_lost, processes_lost, .. } = lives;
    let noticed = match hosts_lost + processes_lost {
        0 => String::new(),
        _ => format!(
            "noticed after {:.1} s in the mean ({:.1} to {:.1})\n",
            mean(lives),
            seconds(lives.soonest),
            seconds(lives.latest)
        ),
    };
    format!(
        "{} days of {} ranks on {} hosts, seed {}\n\
         messages      {messages}, of which {came} came\n\
         computations  {computations} of up to 2 hours without a call\n\
         cuts          {cuts} of up to 30 s\n\
         failures      {hosts_lost} hosts, {processes_lost} processes; all noticed, {} jobs\n\
         {noticed}no healthy rank was given up\n",
        plan.days,
        plan.hosts * plan.per_host,
        plan.hosts,
        plan.seed,
        lives.jobs
    )
}

fn json(plan: &Plan, lives: &Lives) -> serde_json::Value {
    json!({
        "days": plan.days, "ranks": plan.hosts * plan.per_host, "hosts": plan.hosts, "seed": plan.seed,
        "jobs": lives.jobs, "messages": lives.messages, "came": lives.came,
        "computations": lives.computations, "cuts": lives.cuts,
        "hosts_lost": lives.hosts_lost, "processes_lost": lives.processes_lost,
        "noticed_mean_s": mean(lives), "noticed_least_s": seconds(lives.soonest.min(lives.latest)),
        "noticed_most_s": seconds(lives.latest),
    })
}
