/** The list of all error codes. docs/reference/errors.md is generated from it; a code is never reused for another meaning. */

export interface ErrorMeaning {
  readonly means: string;
  readonly next: string;
  /** Exit status: 2 if the request cannot be carried out as written, 1 if a valid request failed. */
  readonly exit: 1 | 2;
}

export const errorCodes = {
  CONFIG_UNREADABLE: {
    means: "The configuration file, or a file it names, cannot be read.",
    next: "Check the path and that this user may read it.",
    exit: 2,
  },
  CONFIG_SYNTAX: {
    means: "The configuration file is not valid YAML.",
    next: "Go to the line and column in the message.",
    exit: 2,
  },
  CONFIG_UNKNOWN_KEY: {
    means: "A key is not part of the schema.",
    next: "Use the name the message suggests, or look it up in docs/reference/config.md.",
    exit: 2,
  },
  CONFIG_WRONG_VALUE: {
    means: "A value has the wrong type or is out of bounds.",
    next: "The message states the expected value.",
    exit: 2,
  },
  CONFIG_MISSING_SECRET: {
    means: "A ${VARIABLE} is not set, or a file: secret does not exist or is empty.",
    next: "Set the variable, or create the file, before starting.",
    exit: 2,
  },
  USAGE: {
    means: "The command line cannot be understood.",
    next: "Run the command with --help.",
    exit: 2,
  },
  SOURCE_UNKNOWN: {
    means: "No source has the name before the colon of a source URL.",
    next: "Run gpulse doctor to list the sources.",
    exit: 2,
  },
  SINK_UNKNOWN: {
    means: "No sink has the name before the colon of a sink URL.",
    next: "The message lists the available sinks.",
    exit: 2,
  },
  SOURCE_OPTIONS: {
    means: "A source or sink has an unknown option, or an invalid value of one.",
    next: "The message names the option and its valid values.",
    exit: 2,
  },
  ALERT_CONFIG: {
    means: "The routing of alerts (alertmanager.yml) is not valid.",
    next: "The message names the key and its valid values.",
    exit: 2,
  },
  SILENCE: {
    means: "A silence cannot be created, changed or expired as requested.",
    next: "The message states the requirement.",
    exit: 2,
  },
  RULE_FILE: {
    means: "A rule file, or a test of one, cannot be read or is not valid.",
    next: "The message names the file, the group and the rule; gpulse rules check lists every mistake.",
    exit: 2,
  },
  SCENARIO_INVALID: {
    means: "A simulator scenario is not valid.",
    next: "Look the key up in docs/reference/sim-scenarios.md.",
    exit: 2,
  },
  FILE_UNREADABLE: {
    means: "A file that a source has to read does not exist, or this user may not read it.",
    next: "Check the path and its permissions; the message names both.",
    exit: 2,
  },
  FILE_FORMAT: {
    means: "A file that a source has to read is not of the format that source reads.",
    next: "The message states what is missing and how to fix it.",
    exit: 2,
  },
  FILES_ADDRESS: {
    means: "A folder, bucket or HDFS address cannot be understood.",
    next: "The message shows the format.",
    exit: 2,
  },
  FILES_DENIED: {
    means: "A folder, bucket or HDFS path denies access to this user.",
    next: "Pass credentials with read and write access, or change the permissions.",
    exit: 1,
  },
  FILES_MISSING: {
    means: "A file, bucket or path does not exist.",
    next: "Check the name; gpulse never creates buckets.",
    exit: 1,
  },
  FILES_UNREACHABLE: {
    means: "The file server does not respond.",
    next: "Check the address and that the server is running; nothing is acknowledged until it responds.",
    exit: 1,
  },
  FILES_FULL: {
    means: "No space is left where the files are stored.",
    next: "Free space or choose another location; nothing was acknowledged that is not stored.",
    exit: 1,
  },
  FILES_FAILED: {
    means: "The storage could not read or write files.",
    next: "The message is that of the storage.",
    exit: 1,
  },
  PORT_IN_USE: {
    means: "Another program already listens on the port.",
    next: "Stop it, or choose another port with --port.",
    exit: 2,
  },
  PORT_DENIED: {
    means: "This user may not listen on that address or port.",
    next: "Choose a port above 1023 or another --host.",
    exit: 2,
  },
  OPEN_TO_NETWORK: {
    means: "The hub is configured to listen beyond loopback without a token or without TLS.",
    next: "The message names the command to run; use --insecure only on a trusted network.",
    exit: 2,
  },
  ACCESS_REFUSED: {
    means: "The hub requires a token, or one with a larger scope.",
    next: "Pass one with --token file:PATH or GPULSE_TOKEN; gpulse token add creates one.",
    exit: 1,
  },
  TOKEN_NAME: {
    means: "A token's name is in use, unknown or invalid.",
    next: "Run gpulse token list, and choose another name.",
    exit: 2,
  },
  TOKEN_TEXT: {
    means: "An imported token is invalid or exists already.",
    next: "The message shows how to create one.",
    exit: 2,
  },
  USER_NAME: {
    means: "A user's name is in use, unknown or invalid.",
    next: "Run gpulse user list, and choose another name.",
    exit: 2,
  },
  PASSWORD: {
    means: "A password cannot be read, or is too weak.",
    next: "The message states the requirement.",
    exit: 2,
  },
  SHARE: {
    means: "A share link cannot be created or revoked as requested.",
    next: "The message states the requirement; gpulse share list lists the links.",
    exit: 2,
  },
  TLS_FILES: {
    means: "A certificate, its key or a CA file cannot be read, or they do not match.",
    next: "The message names the file and what is wrong with it.",
    exit: 2,
  },
  DATA_FOLDER: {
    means: "The hub's data folder is in use by another process, or cannot be used.",
    next: "Stop the other process, or choose another folder with --data.",
    exit: 2,
  },
  STATE_DAMAGED: {
    means:
      "A file that lists who has access is damaged, so that a revoked token or a removed user might come back.",
    next: "Restore the access folder from a backup, or run gpulse token recover: it revokes every token and link and disables every user.",
    exit: 2,
  },
  FOLDER_UNUSABLE: {
    means:
      "A folder that gpulse writes to cannot be created, or the current folder no longer exists.",
    next: "The message gives the reason; choose another folder, or change the permissions.",
    exit: 2,
  },
  STORE_ADDRESS: {
    means: "The hub cannot use the store of --store, or the store rejects it.",
    next: "The message names the cause: the address, the credentials, or an engine that does not accept samples.",
    exit: 2,
  },
  IMPORT_FAILED: {
    means: "The import cannot continue reading, or the hub does not accept samples now.",
    next: "Fix the cause in the message and run the same command again: it resumes where it stopped.",
    exit: 1,
  },
  SINK_FAILED: {
    means:
      "A sink cannot store its data: the disk is full, access is denied, or the data is rejected.",
    next: "Fix the cause in the message and start the pipe again: data that was not stored is read again.",
    exit: 1,
  },
  PIPELINE_STAGE: {
    means: "A stage of a pipeline file failed or does not exist.",
    next: "Fix the cause in the message and run the same command again: completed stages are not repeated.",
    exit: 1,
  },
  EXPRESSION: {
    means: "A tag rule, a column or a window of a stream cannot be understood.",
    next: "The message marks the place; docs/guides/streams.md describes the language.",
    exit: 2,
  },
  ANALYSIS_ENGINE: {
    means: "The engine of an analysis is not installed, or cannot be started.",
    next: "The message states what to install, or which option sets its path.",
    exit: 2,
  },
  ANALYSIS_FAILED: {
    means: "An analysis failed while it was running.",
    next: "The message is the engine's: fix the file or setting that it names.",
    exit: 1,
  },
  ANALYSIS_TOO_LARGE: {
    means: "An analysis needs more memory, cache or time than its limit.",
    next: "Request fewer days with --since and --until, raise the limit, or use --engine spark.",
    exit: 1,
  },
  LAKE_EMPTY: {
    means: "The lake has no files of the GPU table for the requested time.",
    next: "Check the address and the time; gpulse pipe --to parquet:FOLDER creates a lake.",
    exit: 1,
  },
  LAKE_MANIFEST: {
    means: "The manifest of a lake is damaged, incomplete or from a newer gpulse.",
    next: "Restore _commits from a backup, or remove it: the next writer lists the lake's files again.",
    exit: 1,
  },
  QUERY_INVALID: {
    means: "The expression or a parameter of a query is invalid.",
    next: "Fix the place that the message marks.",
    exit: 2,
  },
  QUERY_FAILED: {
    means: "The hub could not execute the request.",
    next: "The message is the hub's: request less, or check the hub.",
    exit: 1,
  },
  SUBJECT_UNKNOWN: {
    means: "The hub does not know the GPU or host to compare.",
    next: "Use one of the names that the message lists.",
    exit: 2,
  },
  AGENT_UNREACHABLE: {
    means: "No gpulse responds at the address.",
    next: "Start one with gpulse up or gpulse agent, or pass its --url.",
    exit: 1,
  },
  RUN_FILE: {
    means: "A .gpulserun file cannot be read, was modified, or is from a newer gpulse.",
    next: "The message names the entry; get the original, or update gpulse.",
    exit: 1,
  },
  RUN_FAILED: {
    means: "A benchmark run cannot be recorded or stored as requested.",
    next: "The message names the cause; if it is detected in time, the wrapped command is not started.",
    exit: 1,
  },
  KAFKA_UNREACHABLE: {
    means: "No broker of a Kafka cluster responds.",
    next: "Check that Kafka runs, and the address, port and tls= in the URL.",
    exit: 1,
  },
  KAFKA_REFUSED: {
    means:
      "A Kafka cluster rejects a request: unknown topic, wrong login, missing rights, or a message that is too large.",
    next: "The message names the rejected request and the option or right that fixes it.",
    exit: 1,
  },
  SCHEMA_REGISTRY: {
    means:
      "A schema registry does not respond, refuses the login, or does not have or accept the schema of the messages.",
    next: "The message names the subject or schema and the option that fixes it.",
    exit: 1,
  },
  PAGE_INVALID: {
    means: "A page of metrics does not follow the format it declares.",
    next: "Fix the exporter: the message names the line and what is wrong there.",
    exit: 1,
  },
} as const satisfies Record<string, ErrorMeaning>;

export type ErrorCode = keyof typeof errorCodes;
