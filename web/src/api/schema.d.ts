// Generated from cluster/serve/openapi.json by `npm run types`. Do not edit.

export interface paths {
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who changed what; for administrators. */
        get: operations["audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events: `snapshot` (Snapshot), `job` (JobSummary), `job-removed` (JobRemoved), `host` (Host),
         *     `problems` (Problems), `caught-up` (CaughtUp). Only `job` and `job-removed` carry an id; with it (header or `after`)
         *     a stream goes on without a snapshot. Comments are signs of life.
         */
        get: operations["events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The hosts. */
        get: operations["hosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts/{name}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a host no new jobs; for administrators. */
        post: operations["drain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts/{name}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Samples of a host. */
        get: operations["history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hosts/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a host jobs again; for administrators. */
        post: operations["resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** About the server. */
        get: operations["info"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List jobs. */
        get: operations["list_jobs"];
        put?: never;
        /** Submit a job. */
        post: operations["submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A job. */
        get: operations["job"];
        put?: never;
        post?: never;
        /** Remove the record and the kept output of a job that has ended. */
        delete: operations["delete_job"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a job. Its record and output stay. */
        post: operations["cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/counters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the kernel and the processor count for each rank of a running job. The first request begins to count; it ends when
         *     nobody has asked for a while.
         */
        get: operations["counters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/hold": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Keep a job from starting. */
        post: operations["hold"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/matrix": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who sent how much to whom. */
        get: operations["matrix"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A part of a job's output, at most 1 MiB. */
        get: operations["output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/output/follow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A job's output as events `output` (data: JSON text; id: offset behind it), until `end`. */
        get: operations["follow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/ranks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the ranks of a running job do. */
        get: operations["ranks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a job start that was held. */
        post: operations["release"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The page that a job has written, as `hpvm bench report -o -` does: an evaluation. `download`: as a file. */
        get: operations["job_report"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{id}/script": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The script of a job that has one. */
        get: operations["script"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Forget a host that reports no more; for administrators. */
        delete: operations["remove_node"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/jobs/{id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** For `hpvm node`: a part of the output of a job there, which is taken if it is the next one. */
        put: operations["receive"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/jobs/{id}/ranks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** For `hpvm node`: what the ranks of a job there do, while the host's orders say that somebody looks. */
        post: operations["tell"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** For `hpvm node`: waits up to 15 s for orders newer than these. */
        get: operations["orders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** For `hpvm node`, with a token of the scope `node`: what a host has, in exchange for its orders. */
        post: operations["report"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The queues. */
        get: operations["queues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{name}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set a queue's limits; what is missing is not limited. For administrators. */
        put: operations["limits"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who is signed in. */
        get: operations["session"];
        put?: never;
        /** Sign in. */
        post: operations["sign_in"];
        /** Sign out. */
        delete: operations["sign_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A new one-time link; over the server's socket only. */
        post: operations["link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set the password of the user who is signed in. */
        put: operations["password"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign a program in: a token with the rights of the user, for three months. */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One's own tokens; with `all` everybody's, for administrators. */
        get: operations["tokens"];
        put?: never;
        /** Make a token; not with a token. */
        post: operations["make_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End a token. */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The users; for administrators. */
        get: operations["users"];
        put?: never;
        /** Make a user; for administrators. */
        post: operations["add_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a user with sessions and tokens; the jobs stay. For administrators. */
        delete: operations["remove_user"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A link by which a user signs in once; for administrators. */
        post: operations["user_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set a user's password, which ends their sessions; for administrators. */
        put: operations["user_password"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{name}/role": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Give a user another role; for administrators. */
        put: operations["role"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Whether an action is possible now. */
        Action: {
            allowed: boolean;
            /** @description A sentence, when it is not. */
            why_not?: string | null;
        };
        /** @description What may be done with a job now. */
        Actions: {
            cancel: components["schemas"]["Action"];
            delete: components["schemas"]["Action"];
            hold: components["schemas"]["Action"];
            release: components["schemas"]["Action"];
        };
        /** @description The place of a job in an array. */
        ArrayTask: {
            /**
             * Format: int32
             * @description How many of the array may run at once.
             */
            at_once?: number | null;
            /**
             * Format: int64
             * @description Number of the array: that of its first job.
             */
            id: number;
            /**
             * Format: int32
             * @description Which number of the list this job is for.
             */
            task: number;
        };
        /** @description An entry of the audit log. */
        AuditEntry: {
            action: string;
            /** Format: date-time */
            at: string;
            /** Format: int64 */
            id: number;
            /** @description An address, or `socket`. */
            origin: string;
            target: string;
            user: string;
        };
        /** @description A page of the audit log, newest first. */
        AuditLog: {
            entries: components["schemas"]["AuditEntry"][];
            /**
             * Format: int64
             * @description Ask with it as `before` for older ones.
             */
            next_before?: number | null;
        };
        /** @description Room of a file system in bytes. */
        Capacity: {
            /**
             * Format: int64
             * @description What an unprivileged user may still write.
             */
            available: number;
            /** Format: int64 */
            total: number;
        };
        /** @description From here on events are live. */
        CaughtUp: {
            /** Format: int64 */
            cursor: number;
        };
        /** @description An event of a rank, since counting began. */
        Counted: {
            /**
             * Format: double
             * @description Part of the time in which it was counted, 0 to 1.
             */
            coverage: number;
            /**
             * Format: double
             * @description The true value lies within so much of it in 95 of 100 cases; not there if that is unknown.
             */
            error?: number | null;
            /**
             * Format: double
             * @description For the whole time; not there if it was never counted.
             */
            value?: number | null;
        };
        /** @description An event that the kernel or the processor counts. */
        CountedEvent: {
            name: string;
            /** @description `ns` or `count`. */
            unit: string;
        };
        /** @description Events of the ranks of a running job. */
        Counters: {
            /**
             * Format: double
             * @description Seconds since counting began.
             */
            elapsed_seconds: number;
            events: components["schemas"]["CountedEvent"][];
            /** @description What is not counted, and why. */
            notes: string[];
            ranks: components["schemas"]["RankCounters"][];
        };
        /** @description Use of the processors. */
        Cpu: {
            /** @description One entry per processor; empty when their number changed between the readings. */
            cores: components["schemas"]["CpuUse"][];
            /** @description All processors together: 1 is all of them busy. */
            total: components["schemas"]["CpuUse"];
        };
        /**
         * @description To what a job's ranks are bound, in the words of srun's `--cpu-bind`.
         * @enum {string}
         */
        CpuBind: "none" | "cores" | "threads" | "sockets" | "ldoms";
        /** @description Fractions of the time between two readings. What is missing to 1 was idle. */
        CpuUse: {
            /**
             * Format: float
             * @description Idle while some process waited for a disk.
             */
            iowait: number;
            /**
             * Format: float
             * @description Taken away by a hypervisor.
             */
            steal: number;
            /**
             * Format: float
             * @description In the kernel, interrupts included.
             */
            system: number;
            /**
             * Format: float
             * @description In programs, those with a lowered priority and guests of a hypervisor included.
             */
            user: number;
        };
        /**
         * @description On what kind of end of another job one depends.
         * @enum {string}
         */
        DependKind: "afterok" | "afterany" | "afternotok";
        /** @description A job that has to end first; of an array, all its tasks, or one. */
        Dependency: {
            /**
             * Format: int64
             * @description Number of a job, or of an array.
             */
            job: number;
            kind: components["schemas"]["DependKind"];
            /**
             * Format: int32
             * @description This task of the array only.
             */
            task?: number | null;
        };
        /** @description Disks: bytes per second of all whole devices, and the room where jobs' data lie. */
        Disk: {
            capacity?: components["schemas"]["Capacity"] | null;
            /** Format: double */
            read?: number | null;
            /** Format: double */
            written?: number | null;
        };
        /** @description Why a host shall get no new jobs. */
        DrainReason: {
            reason: string;
        };
        /** @description What went wrong with one field of a request. */
        FieldError: {
            detail: string;
            /** @description The field, as it is named in the request. */
            field: string;
        };
        /** @description A graphics processor. */
        Gpu: {
            /**
             * Format: float
             * @description Part of the last moment in which it worked; absent when the driver does not say, as of one that is
             *     shared out in parts.
             */
            busy?: number | null;
            /**
             * Format: int64
             * @description Its own memory, in bytes.
             */
            memory_total: number;
            /** Format: int64 */
            memory_used: number;
            /** @description As its driver names it. */
            name: string;
        };
        /** @description A host. */
        Host: {
            /**
             * Format: int32
             * @description Processors that jobs may reserve.
             */
            cpus: number;
            /**
             * Format: int32
             * @description Processors reserved now.
             */
            cpus_reserved: number;
            /**
             * Format: int32
             * @description Graphics processors.
             */
            gpus?: number;
            /** Format: date-time */
            last_seen: string;
            /**
             * Format: int64
             * @description Bytes.
             */
            memory: number;
            name: string;
            /** @description Why it is drained, and by whom; or why the server could not start it. */
            reason?: string | null;
            sample?: components["schemas"]["HostSample"] | null;
            state: components["schemas"]["HostState"];
        };
        /**
         * @description One sample of a host. Bytes are bytes, rates are per second, fractions lie between 0 and 1.
         *
         *     A rate needs two readings, so `cpu`, `network` and the rates of `disk` are absent in the first
         *     sample; they are absent, too, when a counter went backwards and the difference means nothing.
         */
        HostSample: {
            /**
             * Format: int64
             * @description When the second reading was taken, in milliseconds since 1970-01-01 UTC.
             */
            at_ms: number;
            cpu?: components["schemas"]["Cpu"] | null;
            disk: components["schemas"]["Disk"];
            /** @description Graphics processors, in the order of their drivers; empty where there are none, or none answers. */
            gpus?: components["schemas"]["Gpu"][];
            /**
             * Format: double
             * @description Time between the two readings of the rates.
             */
            interval_seconds?: number | null;
            /** @description Mean number of runnable processes in the last 1, 5 and 15 minutes. */
            load: number[];
            memory: components["schemas"]["Memory"];
            network?: components["schemas"]["Network"] | null;
            /** Format: double */
            uptime_seconds: number;
        };
        /**
         * @description Whether a host takes part.
         * @enum {string}
         */
        HostState: "up" | "drained" | "lost";
        /** @description The hosts. */
        Hosts: {
            hosts: components["schemas"]["Host"][];
        };
        /** @description About the server. */
        Info: {
            limits: components["schemas"]["Limits"];
            /** @description `embedded`, `slurm`. */
            mode: string;
            /** @description What the server cannot do now, as sentences: a full disk, a damaged record. */
            problems: string[];
            /** @description The hpvm program on the server, and on hosts that run its jobs. */
            program: string;
            /** Format: date-time */
            time: string;
            version: string;
        };
        Interface: {
            name: string;
            /** Format: double */
            received: number;
            /** Format: double */
            sent: number;
        };
        /** @description A job with all there is to know. */
        Job: components["schemas"]["JobSummary"] & {
            actions: components["schemas"]["Actions"];
            /** @description What it holds of each of its hosts, or held; empty before it has started, and for jobs of Slurm. */
            allocation?: components["schemas"]["Share"][];
            /** @description The command line that would submit the same. */
            command_line: string;
            /**
             * Format: int32
             * @description The job's own, 128 + signal, 124 for a time limit; only of a job that has ended.
             */
            exit_code?: number | null;
            output: components["schemas"]["OutputSizes"];
            spec: components["schemas"]["JobSpec"];
        };
        /** @description A page of a list. */
        JobList: {
            jobs: components["schemas"]["JobSummary"][];
            /** @description Ask with it for what follows; missing on the last page. */
            next_page_token?: string | null;
        };
        /** @description What one host tells of the ranks of a job. */
        JobLook: {
            /** @default null */
            counters?: components["schemas"]["Counters"] | null;
            /**
             * @description Of the host's data folder, as in its reports.
             * @default
             */
            identity?: string;
            /**
             * @description Each start of a program with ranks on this host.
             * @default []
             */
            launches?: components["schemas"]["Launch"][];
            /**
             * @description What is missing, and why.
             * @default []
             */
            notes?: string[];
            /** @description What of it was looked at. */
            parts?: Record<string, never>;
        };
        /** @description A job's record was removed. */
        JobRemoved: {
            /** Format: int64 */
            id: number;
        };
        /** @description A job as it is asked for. */
        JobSpec: {
            /**
             * @description Arguments of the script.
             * @default []
             */
            args?: string[];
            /**
             * @description One job for each number of a list like `0-9`, `1,3,5-20:5`; `%2` at the end lets two run at once.
             * @default null
             */
            array?: string | null;
            /**
             * @description Program and arguments, started as `hpvm run -n RANKS`. Either this or `script`.
             * @default []
             */
            command?: string[];
            /** @default null */
            cpu_bind?: components["schemas"]["CpuBind"] | null;
            /**
             * Format: int32
             * @description Processors reserved for each rank; without it 1.
             * @default null
             */
            cpus_per_rank?: number | null;
            /**
             * @description Jobs that have to end first.
             * @default []
             */
            depends_on?: components["schemas"]["Dependency"][];
            /**
             * @description Variables set for the job, beside those that the server passes on.
             * @default {}
             */
            env?: {
                [key: string]: string;
            };
            /**
             * Format: int32
             * @description Graphics processors, in all.
             * @default null
             */
            gpus?: number | null;
            /**
             * @description Do not start it before it is released.
             * @default false
             */
            hold?: boolean;
            /**
             * @description Hosts that the job may run on, and no others; all when empty.
             * @default []
             */
            hosts?: string[];
            /**
             * @description Soft limits of the job by their names in prlimit(1) (`nofile`, `core`, ...), as far as the
             *     host's hard limits allow; the largest number stands for none.
             * @default {}
             */
            limits?: {
                [key: string]: number;
            };
            /**
             * Format: int32
             * @description Processes and threads that it has at once on the host of its script or launcher, those of the launcher
             *     included; a job that has more is ended.
             * @default null
             */
            max_processes?: number | null;
            /**
             * Format: int32
             * @description How often at most it is started again, when a host is lost or a rank is killed by a signal.
             * @default 0
             */
            max_restarts?: number;
            /**
             * Format: int64
             * @description Memory of all its processes on a host; a job that uses more is ended.
             * @default null
             */
            memory_bytes?: number | null;
            /**
             * @description Shown in lists; without one the program's name.
             * @default null
             */
            name?: string | null;
            /**
             * Format: int32
             * @description Number of hosts; without it one, or as many as the ranks need.
             * @default null
             */
            nodes?: number | null;
            /**
             * Format: int32
             * @description From -1000 to 1000; more starts earlier. A minute of waiting counts as much as 1.
             * @default 0
             */
            priority?: number;
            /**
             * @description Queue; without it the first one.
             * @default null
             */
            queue?: string | null;
            /**
             * Format: int32
             * @description Number of ranks.
             * @default 1
             */
            ranks?: number;
            /**
             * @description Text of a script, which runs once and calls `mpirun` itself.
             * @default null
             */
            script?: string | null;
            /**
             * @description The same for standard error. When only `stdout` is given, both go there.
             * @default null
             */
            stderr?: string | null;
            /**
             * @description File for standard output, with sbatch's patterns (`%j %x %u %a %A %N`), from `workdir`.
             *     Without it, the server keeps the output.
             * @default null
             */
            stdout?: string | null;
            /**
             * Format: int64
             * @description After so many seconds the job is ended; without it, never.
             * @default null
             */
            time_limit_seconds?: number | null;
            /**
             * Format: int32
             * @description File mode creation mask of the job, of the submitter's shell as a rule.
             * @default null
             */
            umask?: number | null;
            /**
             * @description Absolute path of the folder to run in; without it the home folder.
             * @default null
             */
            workdir?: string | null;
        };
        /** @description A job in a list. */
        JobSummary: {
            array?: components["schemas"]["ArrayTask"] | null;
            /** @description It is being ended: a cancel was asked for and has not yet had its effect. */
            cancelling?: boolean;
            /**
             * Format: date-time
             * @description Before this time it is not started again.
             */
            eligible?: string | null;
            /** Format: date-time */
            ended?: string | null;
            /**
             * Format: date-time
             * @description When it starts at the latest, if all that run now keep to their time limits.
             */
            estimated_start?: string | null;
            /** @description The hosts it runs on. */
            hosts: string[];
            /** Format: int64 */
            id: number;
            last_failure?: components["schemas"]["Outcome"] | null;
            name: string;
            outcome?: components["schemas"]["Outcome"] | null;
            /** Format: int32 */
            priority: number;
            queue: string;
            /** Format: int32 */
            ranks: number;
            /** @description Why it is not running yet, as a sentence. */
            reason?: string | null;
            /**
             * Format: int32
             * @description How often it was started again.
             */
            restarts?: number;
            /** Format: date-time */
            started?: string | null;
            state: components["schemas"]["State"];
            /** Format: date-time */
            submitted: string;
            /** Format: int64 */
            time_limit_seconds?: number | null;
            user: string;
            /**
             * @description The tasks of an array that this record stands for, as Slurm writes them: `1-9%2`. Each has a record of
             *     its own once it starts.
             */
            waiting?: string | null;
        };
        /** @description The ranks of one launch on one host. */
        Launch: {
            /**
             * @description What can be said about ranks that do not go on.
             * @default []
             */
            findings?: string[];
            /** @default [] */
            ranks?: components["schemas"]["Rank"][];
            /**
             * @description Sender, receiver, messages, bytes; missing when the ranks do not count it.
             * @default null
             */
            sent?: number[][] | null;
            /**
             * Format: int32
             * @description Ranks on all hosts.
             * @default 0
             */
            size?: number;
        };
        /** @description Where the bounds are. */
        Limits: {
            /** Format: int64 */
            active_jobs: number;
            /** Format: int32 */
            array_tasks: number;
            /** Format: int64 */
            output_chunk_bytes: number;
            /** Format: int32 */
            page: number;
            /** Format: int64 */
            script_bytes: number;
        };
        /** @description A link that signs in once, within an hour. */
        Link: {
            url: string;
        };
        /** @description Signing in for a token that lasts three months, as `hpvm login` does. */
        Login: {
            /**
             * @description What the token is called in lists.
             * @default null
             */
            name?: string | null;
            /** @default {} */
            sign_in?: components["schemas"]["SignIn"];
        };
        /** @description A token, which is told this once: the server keeps its hash. */
        MadeToken: {
            about: components["schemas"]["Token"];
            /** @description To be sent as `Authorization: Bearer TOKEN`. */
            token: string;
        };
        /** @description Who sent how much to whom. */
        Matrix: {
            /** @description Sender, receiver, value; pairs that did not talk are missing. */
            entries: number[][];
            /** @description What is missing, and why. */
            notes?: string[];
            /** Format: int32 */
            size: number;
        };
        /** @description Memory in bytes. */
        Memory: {
            /**
             * Format: int64
             * @description What programs could still take without swapping (the kernel's estimate).
             */
            available: number;
            /** Format: int64 */
            swap_free: number;
            /** Format: int64 */
            swap_total: number;
            /** Format: int64 */
            total: number;
        };
        /** @description Network traffic in bytes per second. */
        Network: {
            interfaces: components["schemas"]["Interface"][];
            /**
             * Format: double
             * @description Sum over the interfaces that have hardware behind them; where there is none (a container),
             *     over all but the loopback. Bridges and tunnels would count the same bytes twice.
             */
            received: number;
            /** Format: double */
            sent: number;
        };
        /** @description A new password of the user who is signed in; it ends all other sessions. */
        NewPassword: {
            /** @description At least 8 characters. */
            new: string;
            /** @description The present one, unless none was set yet. */
            old?: string | null;
        };
        /** @description A token to be made. */
        NewToken: {
            /**
             * Format: int64
             * @description How long it lasts; without it, until it is revoked.
             */
            expires_seconds?: number | null;
            name: string;
            /** @description Some of `read`, `jobs`, `admin`. */
            scopes: string[];
        };
        /** @description A user to be made. */
        NewUser: {
            name: string;
            /** @description At least 8 characters. */
            password?: string | null;
            role?: components["schemas"]["Role"];
        };
        /** @description What `hpvm node` reports each second. */
        NodeReport: {
            capacity: components["schemas"]["Capacity"];
            /** @description The jobs there, and which orders it has; numbered, so that an old one is dropped. */
            report: Record<string, never>;
            sample?: components["schemas"]["HostSample"] | null;
        };
        /** @description How a job ended. */
        Outcome: {
            /**
             * Format: int32
             * @description Exit code, for `exit`.
             */
            code?: number | null;
            /** @description A sentence, when there is more to say. */
            detail?: string | null;
            kind: components["schemas"]["OutcomeKind"];
            /**
             * Format: int32
             * @description Number of the signal, for `signal`.
             */
            signal?: number | null;
        };
        /**
         * @description In which manner a job ended.
         * @enum {string}
         */
        OutcomeKind: "exit" | "signal" | "time_limit" | "memory_limit" | "process_limit" | "cancelled" | "node_lost" | "failed_to_start" | "unknown";
        /** @description Bytes written so far. */
        OutputSizes: {
            /**
             * Format: int64
             * @description The same as `stdout` when both go to one file.
             */
            stderr: number;
            /** Format: int64 */
            stdout: number;
        };
        /** @description An error (RFC 9457). */
        Problem: {
            /** @description This error: cause, offending value, what to do. */
            detail: string;
            errors?: components["schemas"]["FieldError"][];
            /** Format: int32 */
            status: number;
            /** @description What kind of error, in a few words that do not change. */
            title: string;
        };
        /** @description What the server cannot do now: when a stream begins, and when it has changed. */
        Problems: {
            /** @description As in [`Info`]. */
            problems: string[];
        };
        /** @description A queue. */
        QueueInfo: {
            hosts: string[];
            limits?: components["schemas"]["QueueLimits"];
            name: string;
            /** Format: int64 */
            pending: number;
            /** Format: int64 */
            running: number;
        };
        /** @description Limits of a queue; what is missing is not limited. */
        QueueLimits: {
            /**
             * Format: int32
             * @description Most jobs of one user that have not ended.
             * @default null
             */
            jobs_per_user?: number | null;
            /**
             * Format: int32
             * @description Most ranks of a job.
             * @default null
             */
            ranks?: number | null;
            /**
             * Format: int64
             * @description Longest time limit; a job without one gets it.
             * @default null
             */
            time_limit_seconds?: number | null;
        };
        /** @description The queues. */
        Queues: {
            queues: components["schemas"]["QueueInfo"][];
        };
        /** @description A rank of a running job. */
        Rank: {
            counters: {
                [key: string]: number;
            };
            host: string;
            /**
             * Format: int64
             * @description Bytes of memory that it has now, those that it shares with others included.
             */
            memory?: number | null;
            /** @description What it waits for, as sentences. */
            operations?: string[];
            /** Format: int32 */
            pid: number;
            /**
             * Format: int32
             * @description The processor that it ran on last; missing where its process cannot be seen.
             */
            processor?: number | null;
            /** Format: int32 */
            rank: number;
            /**
             * Format: double
             * @description How long it has slept.
             */
            since_seconds?: number | null;
            state: components["schemas"]["RankState"];
            /** @description The ranks it waits for, when it sleeps and that is known. */
            waits_for?: number[];
        };
        /** @description The events of a rank. */
        RankCounters: {
            host: string;
            /** Format: int32 */
            pid: number;
            /** Format: int32 */
            rank: number;
            /** @description In the order of the events. */
            values: components["schemas"]["Counted"][];
        };
        /**
         * @description What a rank does.
         * @enum {string}
         */
        RankState: "computing" | "mpi" | "sleeping" | "starting" | "finished";
        /** @description The ranks of a running job. */
        Ranks: {
            /** @description What can be said about a job that does not go on. */
            findings?: string[];
            /** @description What is missing, and why: a host that tells nothing. */
            notes?: string[];
            ranks: components["schemas"]["Rank"][];
        };
        /** @description How much of an output the server has. */
        Received: {
            /** Format: int64 */
            size: number;
        };
        /**
         * @description What somebody may do.
         * @enum {string}
         */
        Role: "admin" | "user" | "viewer";
        /** @description Another role of a user. */
        RoleChange: {
            role: components["schemas"]["Role"];
        };
        /** @description Columns of equal length, oldest first; `null` where nothing is known. */
        Series: {
            /** @description Fraction of all processors that was busy. */
            cpu: (number | null)[];
            /** @description Fraction of the memory that was used. */
            memory: (number | null)[];
            read: (number | null)[];
            /** @description Bytes per second. */
            received: (number | null)[];
            sent: (number | null)[];
            /**
             * Format: int64
             * @description Time of the first slot, in milliseconds since 1970-01-01 UTC.
             */
            start_ms: number;
            /**
             * Format: int64
             * @description Time from one slot to the next.
             */
            step_ms: number;
            written: (number | null)[];
        };
        /** @description Who is signed in. */
        Session: {
            /** @description `admin`, `user`, `viewer`. */
            roles: string[];
            user: string;
        };
        /** @description Another password of a user; it ends their sessions. */
        SetPassword: {
            /** @description At least 8 characters. */
            password: string;
        };
        /** @description What a job holds of one host. */
        Share: {
            /**
             * Format: int32
             * @description How many processors.
             * @default 0
             */
            cpus?: number;
            /**
             * @description The numbers of its graphics processors.
             * @default []
             */
            gpus?: number[];
            /** @default  */
            host?: string;
            /**
             * Format: int64
             * @description Bytes; 0 when none was asked for.
             * @default 0
             */
            memory?: number;
            /**
             * @description The numbers of its processors, as the kernel counts them. Missing where the queue does not know
             *     those of the host.
             * @default []
             */
            processors?: number[];
            /**
             * Format: int32
             * @default 0
             */
            ranks?: number;
        };
        /** @description Signing in: either user and password, or the token of a one-time link. */
        SignIn: {
            /** @default null */
            link?: string | null;
            /** @default null */
            password?: string | null;
            /** @default null */
            user?: string | null;
        };
        /** @description The first event of a stream that does not resume. */
        Snapshot: {
            /**
             * Format: int64
             * @description Events from here on follow.
             */
            cursor: number;
            hosts: components["schemas"]["Host"][];
            /** @description Jobs that have not ended, and the last that have; newest first. */
            jobs: components["schemas"]["JobSummary"][];
            /** @description There are more jobs than these. */
            truncated: boolean;
        };
        /**
         * @description Where a job stands.
         * @enum {string}
         */
        State: "submitted" | "held" | "pending" | "running" | "ended";
        /** @description A token of a program. */
        Token: {
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires?: string | null;
            /** Format: int64 */
            id: number;
            name: string;
            /** @description `read`; `jobs` submits and ends jobs, too; `admin` all that an administrator may. */
            scopes: string[];
            /**
             * Format: date-time
             * @description Its last use, to the hour.
             */
            used?: string | null;
            user: string;
        };
        /** @description Tokens. */
        Tokens: {
            tokens: components["schemas"]["Token"][];
        };
        /** @description A user. */
        User: {
            /** @description Whether a password was set: without one, a link signs in. */
            has_password: boolean;
            name: string;
            /** @description Whether they have started the server, and so stay its administrator. */
            owner: boolean;
            role: components["schemas"]["Role"];
        };
        /** @description The users. */
        Users: {
            users: components["schemas"]["User"][];
        };
        /** @description What a job would be, without submitting it. */
        Validated: {
            /** @description The command line that would submit it. */
            command_line: string;
            /**
             * Format: date-time
             * @description When it would start at the latest.
             */
            estimated_start?: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    audit: {
        parameters: {
            query?: {
                /** @description `next_before` of the page before */
                before?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditLog"];
                };
            };
        };
    };
    events: {
        parameters: {
            query?: {
                after?: number;
            };
            header?: {
                "Last-Event-ID"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    hosts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hosts"];
                };
            };
        };
    };
    drain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DrainReason"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Host"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    history: {
        parameters: {
            query?: {
                /** @description `hour` or `day` */
                range?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Host"];
                };
            };
        };
    };
    info: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Info"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description One state or several, separated by commas; `active` means all but `ended` */
                state?: string;
                /** @description Jobs of this user */
                user?: string;
                /** @description Jobs whose name contains this */
                name?: string;
                /** @description Jobs that run or ran on this host */
                host?: string;
                /** @description Jobs of this array */
                array?: number;
                /** @description At most so many, up to 1000; 100 without it */
                limit?: number;
                /** @description `-id` (newest first, the default) or `id` */
                sort?: string;
                /** @description `next_page_token` of the page before */
                page_token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    submit: {
        parameters: {
            query?: {
                /** @description 1: check only; answers 200 with Validated */
                validate?: number;
            };
            header?: {
                /** @description The same key and job again give the job that the first request made */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobSpec"];
            };
        };
        responses: {
            /** @description With `validate=1` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validated"];
                };
            };
            /** @description Submitted; of an array, its first job, whose number is the array's */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The key was used for another job */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store's disk is full */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel: {
        parameters: {
            query?: {
                /** @description With the number of an array: all its tasks */
                array?: boolean;
                /** @description With the number of an array: these tasks, as `1-3,7` */
                tasks?: string;
            };
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    counters: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Counters"];
                };
            };
        };
    };
    hold: {
        parameters: {
            query?: {
                /** @description With the number of an array: all its tasks */
                array?: boolean;
                /** @description With the number of an array: these tasks, as `1-3,7` */
                tasks?: string;
            };
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    matrix: {
        parameters: {
            query?: {
                /** @description `bytes` or `messages` */
                unit?: string;
            };
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Matrix"];
                };
            };
            /** @description Its ranks do not count it (`HPVM_MONITOR=0`) */
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    output: {
        parameters: {
            query?: {
                /** @description `stdout` or `stderr` */
                stream?: string;
                /** @description First byte; from the end if negative */
                offset?: number;
                /** @description At most so many bytes */
                limit?: number;
                /** @description 1: all of it, as a file */
                download?: number;
            };
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    /** @description Of the first byte */
                    "X-Offset"?: number;
                    /** @description Where to go on */
                    "X-Offset-Next"?: number;
                    /** @description Bytes there are now */
                    "X-Size"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    follow: {
        parameters: {
            query?: {
                stream?: string;
                offset?: number;
            };
            header?: {
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    ranks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ranks"];
                };
            };
            /** @description It does not run */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Its Slurm does not let the server look */
            501: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many jobs are looked at */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    release: {
        parameters: {
            query?: {
                /** @description With the number of an array: all its tasks */
                array?: boolean;
                /** @description With the number of an array: these tasks, as `1-3,7` */
                tasks?: string;
            };
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    job_report: {
        parameters: {
            query?: {
                download?: number;
            };
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description There is no such job, or its output is no page */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    script: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Number of a job, or a task of an array: `12_3` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forgotten */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It reports, or jobs run there */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    receive: {
        parameters: {
            query: {
                /** @description `stdout` or `stderr` */
                stream: string;
                /** @description Place of the first byte */
                offset: number;
            };
            header?: never;
            path: {
                name: string;
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": number[];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Received"];
                };
            };
            /** @description The server's disk is full */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    tell: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobLook"];
            };
        };
        responses: {
            /** @description Taken */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The job has no ranks there */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    orders: {
        parameters: {
            query?: {
                epoch?: number;
                number?: number;
                /** @description Number of the looks that the host knows; others are an answer, too */
                looks?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The orders of the host */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    report: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeReport"];
            };
        };
        responses: {
            /** @description The orders of the host */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description Another host of this name reports */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    queues: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Queues"];
                };
            };
        };
    };
    limits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueueLimits"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Queues"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description Signed in; the cookie hpvm_session is set */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Unknown user or wrong password, which look the same, or a used link */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many attempts; Retry-After says when to try again */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed out */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPassword"];
            };
        };
        responses: {
            /** @description Set; all other sessions of the user have ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeToken"];
                };
            };
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    tokens: {
        parameters: {
            query?: {
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
        };
    };
    make_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeToken"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    users: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Users"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_user: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The last administrator, or who has started the server */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    user_link: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    user_password: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetPassword"];
            };
        };
        responses: {
            /** @description Set */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    role: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RoleChange"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
