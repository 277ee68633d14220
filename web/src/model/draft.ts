// The form of a job: what is typed, as text, and the job that it means.

import type { JobSpec } from "../api/types";
import { bytesText, duration, parseBytes, parseLimit } from "./units";
import { joinWords, splitWords } from "./words";

/// What is typed, by field of the API.
export interface Draft {
  kind: "command" | "script";
  command: string;
  script: string;
  args: string;
  name: string;
  ranks: string;
  nodes: string;
  hosts: string;
  gpus: string;
  cpus_per_rank: string;
  cpu_bind: string;
  time_limit_seconds: string;
  memory_bytes: string;
  max_processes: string;
  queue: string;
  priority: string;
  max_restarts: string;
  depends_on: string;
  array: string;
  workdir: string;
  stdout: string;
  stderr: string;
  env: string;
  hold: boolean;
}

export const EMPTY: Draft = {
  kind: "command", command: "", script: "", args: "", name: "", ranks: "1", nodes: "", hosts: "", gpus: "", cpus_per_rank: "", cpu_bind: "",
  time_limit_seconds: "", memory_bytes: "", max_processes: "", queue: "", priority: "", max_restarts: "", depends_on: "", array: "", workdir: "",
  stdout: "", stderr: "", env: "", hold: false,
};

/// To what ranks may be bound, as `--cpu-bind` has it.
export const BINDINGS = ["none", "cores", "threads", "sockets", "ldoms"] as const;

export type Field = Exclude<keyof Draft, "kind">;
export type Problems = Partial<Record<Field, string>>;

/// The job, or what keeps the text from being one.
export function toSpec(draft: Draft): { spec: JobSpec; problems: Problems } {
  const problems: Problems = {};
  const text = (field: Exclude<Field, "hold">): string | null => draft[field].trim() || null;
  const words = (field: "command" | "args"): string[] => {
    const split = splitWords(draft[field]);
    if ("words" in split) return split.words;
    problems[field] = `Expected a program and its arguments; ${split.problem}.`;
    return [];
  };
  const number = (field: Exclude<Field, "hold">): number | null => {
    const value = text(field);
    if (value === null) return null;
    if (/^-?\d+$/.test(value)) return Number(value);
    problems[field] = `Expected a whole number, found "${value}".`;
    return null;
  };
  const read = <T>(field: Exclude<Field, "hold">, parse: (text: string) => T | undefined, expected: string): T | null => {
    const value = text(field);
    const found = value === null ? null : parse(value);
    if (found === undefined) problems[field] = `Expected ${expected}, found "${value}".`;
    return found ?? null;
  };
  const spec: JobSpec = {
    name: text("name"),
    ranks: number("ranks") ?? 1,
    nodes: number("nodes"),
    hosts: (text("hosts") ?? "").split(/[\s,]+/).filter(Boolean),
    gpus: number("gpus"),
    cpus_per_rank: number("cpus_per_rank"),
    cpu_bind: read("cpu_bind", (word) => BINDINGS.find((each) => each === word), BINDINGS.join(", ")),
    time_limit_seconds: read("time_limit_seconds", parseLimit, "minutes, or hours:minutes:seconds"),
    memory_bytes: read("memory_bytes", parseBytes, "a size like 512M or 4G"),
    max_processes: number("max_processes"),
    queue: text("queue"),
    priority: number("priority") ?? 0,
    max_restarts: number("max_restarts") ?? 0,
    depends_on: read("depends_on", parseDependencies, "afterok:12, afterany:12 or afternotok:12, with commas between") ?? [],
    array: text("array"),
    workdir: text("workdir"),
    stdout: text("stdout"),
    stderr: text("stderr"),
    env: read("env", parseEnvironment, "lines like NAME=value") ?? {},
    hold: draft.hold,
  };
  if (draft.kind === "command") spec.command = words("command");
  else Object.assign(spec, { script: draft.script, args: words("args") });
  return { spec, problems };
}

/// A job as text, to submit it again.
export function fromSpec(spec: JobSpec): Draft {
  const text = (value: string | number | null | undefined): string => (value == null ? "" : String(value));
  return {
    kind: spec.script == null ? "command" : "script",
    command: joinWords(spec.command ?? []),
    script: spec.script ?? "",
    args: joinWords(spec.args ?? []),
    name: text(spec.name),
    ranks: text(spec.ranks ?? 1),
    nodes: text(spec.nodes),
    hosts: (spec.hosts ?? []).join(","),
    gpus: text(spec.gpus),
    cpus_per_rank: text(spec.cpus_per_rank),
    cpu_bind: text(spec.cpu_bind),
    time_limit_seconds: spec.time_limit_seconds == null ? "" : limitText(spec.time_limit_seconds),
    memory_bytes: spec.memory_bytes == null ? "" : bytesText(spec.memory_bytes),
    max_processes: text(spec.max_processes),
    queue: text(spec.queue),
    priority: spec.priority ? String(spec.priority) : "",
    max_restarts: spec.max_restarts ? String(spec.max_restarts) : "",
    depends_on: dependencies(spec),
    array: text(spec.array),
    workdir: text(spec.workdir),
    stdout: text(spec.stdout),
    stderr: text(spec.stderr),
    env: Object.entries(spec.env ?? {}).map(([name, value]) => `${name}=${value}`).join("\n"),
    hold: spec.hold ?? false,
  };
}

/// `duration` writes minutes and seconds as "10:00", which is read as that, too.
function limitText(seconds: number): string {
  return seconds % 60 === 0 && seconds < 3600 ? String(seconds / 60) : duration(seconds);
}

export const dependencies = ({ depends_on }: JobSpec): string =>
  (depends_on ?? []).map(({ kind, job, task }) => `${kind}:${job}${task == null ? "" : `_${task}`}`).join(", ");

type Dependencies = NonNullable<JobSpec["depends_on"]>;

function parseDependencies(text: string): Dependencies | undefined {
  const list: Dependencies = [];
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const match = /^(afterok|afterany|afternotok)((?::\d+(?:_\d+)?)+)$/.exec(part);
    if (!match) return undefined;
    for (const name of (match[2] ?? "").split(":").filter(Boolean)) {
      const [job = 0, task] = name.split("_").map(Number);
      list.push({ kind: match[1] as Dependencies[number]["kind"], job, ...(task === undefined ? {} : { task }) });
    }
  }
  return list;
}

function parseEnvironment(text: string): Record<string, string> | undefined {
  const env: Record<string, string> = {};
  for (const line of text.split("\n").filter((each) => each.trim())) {
    const match = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (!match) return undefined;
    env[match[1] ?? ""] = match[2] ?? "";
  }
  return env;
}
