//! Programs with a mistake, under `MPI_ERRORS_ARE_FATAL`: the job ends with a code other than 0
//! and one message that names the function and the cause.

use std::process::Command;

use hpvm_tests::hosts::Hosts;

use crate::common::{PATIENCE, mpirun, prefix, program, run_within};

/// The mistake of `wrong.c`, the function it is made in, and what the message must name: one of
/// the alternatives between the bars.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("bad_rank", "MPI_Send", "-5"),
    ("rank_too_big", "MPI_Send", "MPI_ERR_RANK"),
    ("bad_source", "MPI_Recv", "MPI_ERR_RANK"),
    ("bad_tag", "MPI_Send", "-7"),
    ("bad_count", "MPI_Send", "-3"),
    ("null_type", "MPI_Send", "MPI_ERR_TYPE"),
    ("garbage_type", "MPI_Send", "MPI_ERR_TYPE"),
    ("null_comm", "MPI_Send", "MPI_ERR_COMM"),
    ("garbage_comm", "MPI_Barrier", "MPI_ERR_COMM"),
    ("null_buffer", "MPI_Send", "MPI_ERR_BUFFER"),
    ("null_op", "MPI_Allreduce", "MPI_ERR_OP"),
    ("garbage_op", "MPI_Allreduce", "MPI_ERR_OP"),
    ("op_of_type", "MPI_Allreduce", "MPI_ERR_OP"),
    ("bad_root", "MPI_Bcast", "MPI_ERR_ROOT"),
    ("free_world", "MPI_Comm_free", "MPI_ERR_COMM"),
    ("free_int", "MPI_Type_free", "MPI_ERR_TYPE"),
    ("garbage_request", "MPI_Wait", "MPI_ERR_REQUEST"),
    ("garbage_group", "MPI_Group_size", "MPI_ERR_GROUP"),
    ("used_after_free", "MPI_Barrier", "MPI_ERR_COMM"),
    ("uncommitted", "MPI_Send", "MPI_ERR_TYPE"),
    ("truncated", "MPI_Recv", "MPI_ERR_TRUNCATE"),
    ("truncated_large", "MPI_Recv", "MPI_ERR_TRUNCATE"),
    ("truncated_wait", "MPI_Wait", "MPI_ERR_TRUNCATE"),
    ("init_twice", "MPI_Init", "already|twice|once"),
    ("send_before", "MPI_Send", "not been initialized"),
    ("rank_before", "MPI_Comm_rank", "not been initialized"),
    ("barrier_after", "MPI_Barrier", "finalized"),
    ("finalize_twice", "MPI_Finalize", "finalized"),
];

/// What is wrong with the end of a job in which the last of `ranks` ranks made this mistake.
fn complaint(mistake: &(&str, &str, &str), ranks: u32) -> Option<String> {
    complaint_of(mistake, ranks, mpirun(ranks, "wrong", &[mistake.0]))
}

/// The same of a job that is started in this way.
fn complaint_of(mistake: &(&str, &str, &str), ranks: u32, command: Command) -> Option<String> {
    let (name, function, cause) = *mistake;
    let outcome = run_within(command, PATIENCE);
    let (code, output) = (outcome.code.unwrap_or(0), outcome.output);
    // The launcher tells it for a rank that has joined the job; one that has not, or has left,
    // speaks for itself, and the launcher says that it ended.
    let is_reason = |line: &&str| line.starts_with("hpvm: ") || line.contains(" gives up: ");
    let reasons: Vec<_> = output.lines().filter(is_reason).collect();
    let others = output.lines().count() - reasons.len();
    let problem = match reasons[..] {
        _ if code == 0 => "the exit code is 0".to_string(),
        _ if (97..=99).contains(&code) => format!("the program went on (code {code})"),
        _ if code > 128 => format!("a rank crashed (code {code})"),
        [line] if !line.contains(function) => format!("the message lacks {function}"),
        [line] if !cause.split('|').any(|word| line.contains(word)) => {
            format!("the message lacks {cause}")
        }
        [line] if !line.contains(&format!("rank {}", ranks - 1)) && !line.contains("process") => {
            "the message does not say who".to_string()
        }
        [line] if others > usize::from(!line.starts_with("mpirun: ")) => {
            "there is other output".to_string()
        }
        [_] => return None,
        _ => format!("{} reasons instead of 1", reasons.len()),
    };
    Some(format!("{name} on {ranks} ranks: {problem}:\n{output}"))
}

#[test]
fn a_mistake_ends_the_job_with_one_message() {
    let complaints: Vec<_> = MISTAKES.iter().filter_map(|mistake| complaint(mistake, 2)).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// The ranks are on two hosts.
#[test]
fn a_mistake_on_another_host_ends_the_job_with_one_message() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let list = [hosts.name(1), hosts.name(2)].join(",");
    let job = |mistake: &str| {
        let mut command = hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-n", "2", "-H", &list, "--map-by", "node", "--launch-agent"]);
        command.arg(Hosts::agent()).arg(program("wrong")).arg(mistake);
        command
    };
    // Those of messages between the ranks, and of their arguments.
    let two_sided = |mistake: &&(&str, &str, &str)| {
        ["MPI_Send", "MPI_Recv", "MPI_Wait"].contains(&mistake.1) && !mistake.0.contains("before")
    };
    let chosen = MISTAKES.iter().filter(two_sided);
    let complaints: Vec<_> =
        chosen.filter_map(|mistake| complaint_of(mistake, 2, job(mistake.0))).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn a_mistake_of_one_of_several_ends_all() {
    let some = ["bad_rank", "truncated", "truncated_large", "send_before", "finalize_twice"];
    let chosen = MISTAKES.iter().filter(|mistake| some.contains(&mistake.0));
    let complaints: Vec<_> = chosen.filter_map(|mistake| complaint(mistake, 5)).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn every_mistake_of_the_program_is_in_the_table() {
    let text = std::fs::read_to_string(crate::common::sources().join("wrong.c")).expect("wrong.c");
    let table = text.split_once("#define M(").expect("the table of mistakes").1;
    let known: Vec<_> = table
        .split(" M(")
        .skip(1)
        .filter_map(|rest| rest.split_once(','))
        .map(|(name, _)| name)
        .collect();
    let listed: Vec<_> = MISTAKES.iter().map(|mistake| mistake.0).collect();
    assert_eq!(known, listed.iter().map(|name| &**name).collect::<Vec<_>>());
}
