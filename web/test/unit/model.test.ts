// The parts of the page that compute, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, readEvents, type ServerEvent } from "../../src/api/sse";
import type { JobSpec } from "../../src/api/types";
import { overwritten, plain, spans } from "../../src/model/ansi";
import { csv } from "../../src/model/csv";
import { EMPTY, fromSpec, toSpec } from "../../src/model/draft";
import { matches, parseFilter, query } from "../../src/model/filter";
import { rankOf, Window } from "../../src/model/lines";
import { largestPairs, shade, tiles, zoom } from "../../src/model/matrix";
import { Minutes } from "../../src/model/minute";
import { word } from "../../src/model/outcome";
import { Rates, sum } from "../../src/model/rates";
import { compare, dataIn } from "../../src/model/report";
import { bytes, count, duration, parseBytes, parseLimit, ranges, relative } from "../../src/model/units";
import { joinWords, splitWords } from "../../src/model/words";
import { ended, job, pending, report } from "../mock/data";

const encode = (text: string) => new TextEncoder().encode(text);

test("a filter knows its words and says which it does not", () => {
  const passes = (text: string, each = job(7, { name: "Poisson", user: "ada" })) => matches(parseFilter(text), each, "ada");
  assert.ok(passes("state:running user:me poiss host:n1"));
  assert.ok(passes("7") && !passes("8"));
  assert.ok(passes("state:held,running") && !passes("state:held"));
  assert.ok(!passes("user:bob") && !passes("host:n11"));
  assert.ok(passes("state:failed", ended(7, 2)) && !passes("state:failed", ended(7, 0)));
  assert.match(parseFilter("stat:running").problem ?? "", /"stat" is not known/);
  assert.match(parseFilter("state:runing").problem ?? "", /"runing" is not a state/);
  assert.equal(parseFilter("state:").problem, undefined, "still being typed");
  assert.equal(query(parseFilter("user:me state:failed x"), "ada").toString(), "user=ada&state=ended&name=x");
  assert.equal(query(parseFilter("state:active"), "").get("state"), "submitted,held,pending,running");
});

test("colours become classes, other escapes nothing, markup stays text", () => {
  assert.deepEqual(spans("a\u001b[1;31mb\u001b[0mc"), [
    { text: "a", classes: "" },
    { text: "b", classes: "b f1" },
    { text: "c", classes: "" },
  ]);
  assert.equal(spans("\u001b[38;5;196mx")[0]?.color, "#ff0000");
  assert.equal(spans("\u001b[48;2;1;2;300mx")[0]?.background, "#01022c");
  assert.equal(spans("\u001b[92mx")[0]?.classes, "f10");
  assert.equal(plain("\u001b]0;title\u0007a\u001b[2Kb\u001b(Bc\u0007"), "abc␇");
  assert.equal(spans("<img src=x onerror=alert(1)>")[0]?.text, "<img src=x onerror=alert(1)>");
  assert.equal(overwritten("10%\r20%\r30%\r"), "30%");
  assert.deepEqual(spans("a\u001b["), [{ text: "a", classes: "" }], "a torn escape is none");
});

test("a window takes what it can hold, whole lines, from either side", () => {
  const window = new Window(0, 40);
  window.append(encode("one\ntwo\nthr"));
  window.append(encode("ee\n"));
  assert.deepEqual(window.all().map((line) => line.text), ["one", "two", "three"]);
  assert.equal(window.append(encode("x".repeat(34) + "\n")), 3, "the oldest go");
  assert.deepEqual([window.start, window.end, window.count], [14, 49, 1]);
  const middle = new Window(20, 1000);
  middle.append(encode("d\ne\n"));
  assert.equal(middle.prepend(encode("orn\nb\nc\n")), 2, "the torn line at the border stays out");
  assert.deepEqual(middle.all().map((line) => [line.text, line.offset]), [["b", 16], ["c", 18], ["d", 20], ["e", 22]]);
});

test("a letter of several bytes may be torn, a line without an end is cut", () => {
  const window = new Window();
  const [a, b] = [encode("ä\n").subarray(0, 1), encode("ä\n").subarray(1)];
  window.append(a);
  window.append(b);
  assert.equal(window.at(0)?.text, "ä");
  const endless = new Window(0, 1 << 20);
  for (let i = 0; i < 64; i += 1) endless.append(encode("x".repeat(1 << 16)));
  assert.ok(endless.end - endless.start <= (1 << 20) + (1 << 17), `${endless.end - endless.start}`);
});

test("ranks in front of lines", () => {
  assert.deepEqual([rankOf("[12] x"), rankOf("[x] 1"), rankOf(" [1] x")], [12, undefined, undefined]);
});

test("numbers for people, and back", () => {
  assert.deepEqual([bytes(0), bytes(1536), bytes(64 * 2 ** 30)], ["0 B", "1.50 KiB", "64.0 GiB"]);
  assert.equal(count(1234567), "1.23 M");
  assert.deepEqual([duration(5), duration(3751), duration(2 * 86400 + 3600)], ["00:05", "1:02:31", "2-01:00:00"]);
  assert.deepEqual([relative(0, 5000), relative(65_000, 0), relative(0, 500)], ["5 s ago", "in 65 s", "now"]);
  assert.deepEqual(["90", "10:00", "1:00:00", "1-6", "x", "1:2:3:4"].map(parseLimit), [5400, 600, 3600, 108000, undefined, undefined]);
  assert.deepEqual(["512M", "4G", "4 GiB", "1024", "x"].map(parseBytes), [2 ** 29, 2 ** 32, 2 ** 32, 2 ** 30, undefined]);
});

test("numbers as the kernel lists them", () => {
  assert.deepEqual([[5, 0, 1, 2], [3], [], [2, 0]].map(ranges), ["0-2,5", "3", "", "0,2"]);
});

test("words as a shell splits them", () => {
  const split = (text: string) => splitWords(text);
  assert.deepEqual(split(`./a 'b c' "d\\"e" f\\ g ''`), { words: ["./a", "b c", 'd"e', "f g", ""] });
  assert.match(JSON.stringify(split("'x")), /not closed/);
  const words = ["a b", "it's", "", "$HOME", "plain"];
  assert.deepEqual(split(joinWords(words)), { words });
});

test("a job in the form is the job that comes out", () => {
  const spec: JobSpec = {
    name: "x", command: ["./a b", "1"], args: [], ranks: 4, nodes: 2, hosts: ["n1", "n2"], gpus: 2, cpus_per_rank: 3, cpu_bind: "cores", time_limit_seconds: 5430, memory_bytes: 3 * 2 ** 29, max_processes: 64,
    queue: "main", priority: 5, max_restarts: 3, depends_on: [{ kind: "afterok", job: 3, task: 2 }, { kind: "afterany", job: 4 }], array: "0-3%2",
    workdir: "/tmp", stdout: "o.%j", stderr: null, env: { A: "b=c", B: "" }, hold: true,
  };
  const { spec: back, problems } = toSpec(fromSpec(spec));
  assert.deepEqual(problems, {});
  const { args: _, ...plainSpec } = spec;
  assert.deepEqual(back, plainSpec);
  const script = toSpec(fromSpec({ script: "#!/bin/sh\n", args: ["a"] })).spec;
  assert.deepEqual([script.script, script.args, script.command], ["#!/bin/sh\n", ["a"], undefined]);
});

test("each wrong field says what is expected and what was found", () => {
  const typed = { ...EMPTY, command: "a 'b", ranks: "4x", time_limit_seconds: "soon", memory_bytes: "big", depends_on: "3", env: "A" };
  const { problems } = toSpec(typed);
  assert.deepEqual(Object.keys(problems).sort(), ["command", "depends_on", "env", "memory_bytes", "ranks", "time_limit_seconds"]);
  assert.match(problems.time_limit_seconds ?? "", /Expected minutes.*found "soon"/);
});

test("the map sums up in tiles, zooms inside its borders, and lists its pairs", () => {
  const entries: [number, number, number][] = Array.from({ length: 2048 }, (_, i) => [i, (i + 1) % 2048, 10]);
  const made = tiles({ size: 2048, entries }, { first: 0, size: 2048 });
  assert.deepEqual([made.side, made.ranks, made.sums[0], made.sums[1]], [1024, 2, 10, 10]);
  assert.equal(made.sums.reduce((a, b) => a + b), 20480, "nothing is lost");
  assert.deepEqual(zoom({ first: 0, size: 8 }, 7, 0.5, 8), { first: 4, size: 4 });
  assert.deepEqual(zoom({ first: 4, size: 4 }, 5, 100, 8), { first: 0, size: 8 });
  assert.ok(shade(1, 1e9) > 0 && shade(1e9, 1e9) === 1 && shade(0, 5) === 0);
  assert.deepEqual(largestPairs({ size: 3, entries: [[0, 1, 5], [1, 2, 9]] }, 1), [[1, 2, 9]]);
});

test("events, however they are cut", () => {
  const text = ": beat\n\nid: 7\nevent: job\ndata: {\ndata: }\n\nevent: host\r\ndata:1\r\n\r\ndata: torn";
  for (const size of [1, 3, 1000]) {
    const got: ServerEvent[] = [];
    const parser = new EventParser((event) => got.push(event));
    for (let i = 0; i < text.length; i += size) parser.push(text.slice(i, i + size));
    assert.deepEqual(got, [
      { name: "job", id: "7", data: "{\n}" },
      { name: "host", id: undefined, data: "1" },
    ]);
  }
});

test("a stream that says nothing, not even heartbeats, has ended; one that beats has not", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const read = async () => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((done) => setImmediate(done));
  };
  const stream = (body: ReadableStream<Uint8Array>) => readEvents(new Response(body), () => {}, 100);
  const silent = assert.rejects(stream(new ReadableStream({ start: (control) => control.enqueue(encode("event: job\ndata: 1\n\n")) })), /no heartbeat/);
  await read();
  t.mock.timers.tick(100);
  await silent;
  let control: ReadableStreamDefaultController<Uint8Array> | undefined;
  const beating = stream(new ReadableStream<Uint8Array>({ start: (given) => void (control = given) }));
  for (let beat = 0; beat < 20; beat += 1) {
    control?.enqueue(encode(":\n\n"));
    await read();
    t.mock.timers.tick(99);
  }
  control?.close();
  await beating;
});

test("words for how jobs stand", () => {
  assert.deepEqual(
    [job(1), pending(2), ended(3), ended(4, 3), ended(5, 0, { outcome: { kind: "signal", signal: 11 } })].map(word),
    ["running", "pending", "done", "exit 3", "SIGSEGV"],
  );
});

test("cells that a spreadsheet would compute do not", () => {
  assert.equal(csv([["a,b", '"', 1, -2, "=1+1"]]), '"a,b","""",1,-2,\'=1+1\r\n');
});

test("rates between answers, and sums that know what was not counted", () => {
  const answer = (elapsed_seconds: number, ...values: (number | null)[]) => ({
    elapsed_seconds,
    events: [{ name: "cycles", unit: "count" }],
    ranks: values.map((value, rank) => ({ rank, host: "n1", pid: 10 + rank, values: [{ value, coverage: value === null ? 0 : 0.5 }] })),
    notes: [],
  });
  const rates = new Rates();
  rates.push(answer(1, 100, null));
  rates.push(answer(3, 300, 7));
  rates.push(answer(4, 250, 9));
  assert.deepEqual([rates.of(10, 0), rates.of(11, 0), rates.of(12, 0)], [[100, 0], [2], []]);
  rates.push(answer(1, 5, 5));
  assert.deepEqual(rates.of(10, 0), [], "counted anew");
  for (let at = 2; at < 100; at += 1) rates.push(answer(at, at * 3, 5));
  assert.equal(rates.of(10, 0).length, 60);
  assert.deepEqual(sum(answer(1, 4, 5), 0), { value: 9, coverage: 0.5 });
  assert.deepEqual(sum(answer(1, 4, null), 0), { value: undefined, coverage: 0 });
  assert.deepEqual(sum(answer(1), 0), { value: undefined, coverage: 0 });
});

test("the last minute of ranks: how often they waited, what they sent", () => {
  const rank = (state: "computing" | "sleeping", packets_sent: number, pid = 7) => ({ rank: 0, host: "n1", pid, state, counters: { packets_sent } });
  const minutes = new Minutes();
  assert.equal(minutes.of(rank("computing", 0)), undefined);
  const first = [rank("computing", 100)];
  minutes.push(first, 1000);
  minutes.push(first, 5000);
  assert.deepEqual(minutes.of(rank("computing", 0)), { waited: 0, sent: undefined }, "the same answer again is no look");
  minutes.push([rank("sleeping", 300)], 2000);
  minutes.push([rank("sleeping", 500)], 3000);
  assert.deepEqual(minutes.of(rank("computing", 0)), { waited: 2 / 3, sent: 200 });
  for (let at = 4; at < 100; at += 1) minutes.push([rank("sleeping", 500)], at * 1000);
  assert.deepEqual(minutes.of(rank("computing", 0)), { waited: 1, sent: 0 }, "a minute, no more");
  minutes.push([rank("computing", 5, 8)], 200_000);
  assert.deepEqual(minutes.of(rank("computing", 0, 8)), { waited: 0, sent: undefined }, "another process begins anew");
  assert.equal(minutes.of(rank("computing", 0, 7)), undefined, "who has gone is forgotten");
});

test("reports are compared by their data, and chance is no change", () => {
  const data = (latency: number[]) => {
    const found = dataIn(report("n1", latency));
    assert.ok(found);
    return found;
  };
  const verdict = (before: number[], now: number[]) => compare(data(before), data(now)).find((each) => each.measurement === "latency")?.verdict;
  assert.equal(verdict([1, 1.1, 1.2], [0.5, 0.6, 0.7]), "better");
  assert.equal(verdict([1, 1.1, 1.2], [2, 2.1]), "worse");
  assert.equal(verdict([1, 2, 3], [1.5, 2.5, 3.5]), "same", "they overlap");
  assert.equal(verdict([100, 101], [103, 104]), "same", "less than 5 %");
  assert.equal(verdict([], [1]), undefined);
  assert.equal(compare(data([1]), data([2]))[0]?.measurement, "latency", "what changed most comes first");
  for (const none of ["", "<!DOCTYPE html><body></body>", report("n1", []).replace('"format":1', '"format":2'), report("n1", [1]).replace('{"format"', "{format")]) {
    assert.equal(dataIn(none), undefined);
  }
});
