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
    next: "The message says what is expected there.",
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
    next: "The message lists the sinks there are.",
    exit: 2,
  },
  SOURCE_OPTIONS: {
    means: "A source or sink was given an option it does not take, or a bad value for one.",
    next: "The message names the option and what it takes.",
    exit: 2,
  },
  ALERT_CONFIG: {
    means: "The routing of alerts (alertmanager.yml) is not valid.",
    next: "The message names the key and what it takes.",
    exit: 2,
  },
  SILENCE: {
    means: "A silence cannot be made, changed or ended as asked.",
    next: "The message says what it needs.",
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
    next: "The message says what is missing in it and how to fix it.",
    exit: 2,
  },
  FILES_ADDRESS: {
    means: "A folder, bucket or HDFS address cannot be understood.",
    next: "The message shows how one is written.",
    exit: 2,
  },
  FILES_DENIED: {
    means: "A folder, bucket or HDFS path does not let this user in.",
    next: "Give credentials that may read and write there, or change its permissions.",
    exit: 1,
  },
  FILES_MISSING: {
    means: "A file, bucket or path is not there.",
    next: "Check the name; a bucket is made by its owner, never by gpulse.",
    exit: 1,
  },
  FILES_UNREACHABLE: {
    means: "The server that keeps the files does not answer.",
    next: "Check the address and that the server runs; nothing was acknowledged meanwhile.",
    exit: 1,
  },
  FILES_FULL: {
    means: "There is no space left where the files are stored.",
    next: "Free space or give another place; nothing was acknowledged that is not stored.",
    exit: 1,
  },
  FILES_FAILED: {
    means: "Files could not be read or written for a reason of the place that keeps them.",
    next: "The message is that place's own.",
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
    means: "The hub was asked to listen beyond loopback without a token, or without TLS.",
    next: "The message names the command to run next; --insecure is for a network that is trusted itself.",
    exit: 2,
  },
  ACCESS_REFUSED: {
    means: "The hub asks for a token, or for one that may do more.",
    next: "Give it with --token file:PATH or GPULSE_TOKEN; gpulse token add makes one.",
    exit: 1,
  },
  TOKEN_NAME: {
    means: "A token's name is taken, unknown or no name.",
    next: "Run gpulse token list, and choose another name.",
    exit: 2,
  },
  TOKEN_TEXT: {
    means: "A token that was made elsewhere will not do, or is known already.",
    next: "The message says how to make one.",
    exit: 2,
  },
  USER_NAME: {
    means: "A user's name is taken, unknown or no name.",
    next: "Run gpulse user list, and choose another name.",
    exit: 2,
  },
  PASSWORD: {
    means: "A password cannot be read, or will not do.",
    next: "The message says what it needs.",
    exit: 2,
  },
  SHARE: {
    means: "A share link cannot be made or ended as asked.",
    next: "The message says what it needs; gpulse share list shows them.",
    exit: 2,
  },
  TLS_FILES: {
    means: "A certificate, its key or a CA file cannot be read, or they do not belong together.",
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
      "A folder that gpulse has to write to cannot be created, or the current folder no longer exists.",
    next: "The message says why; choose another folder, or change the permissions.",
    exit: 2,
  },
  STORE_ADDRESS: {
    means: "What --store names is no store the hub can use, or refuses to be one.",
    next: "The message names the obstacle: the address, credentials, or an engine that accepts no samples.",
    exit: 2,
  },
  IMPORT_FAILED: {
    means: "What was to be imported could not be read on, or the hub takes nothing now.",
    next: "Fix what the message names and run the same command again: it goes on where it stopped.",
    exit: 1,
  },
  SINK_FAILED: {
    means:
      "A sink can never keep what it was given: its disk is full, it is denied, or it refuses the data.",
    next: "Fix what the message names and start the pipe again: what was not stored is read again.",
    exit: 1,
  },
  PIPELINE_STAGE: {
    means: "A stage of a pipeline file failed or is not there.",
    next: "Fix what the message names and run the same command again: stages that are done are not repeated.",
    exit: 1,
  },
  EXPRESSION: {
    means: "A tag rule, a column or a window of a stream cannot be understood.",
    next: "The message marks the place; docs/guides/streams.md describes the language.",
    exit: 2,
  },
  ANALYSIS_ENGINE: {
    means: "The engine that was to do an analysis is not installed, or cannot be started.",
    next: "The message says what to install, or how to say where it is.",
    exit: 2,
  },
  ANALYSIS_FAILED: {
    means: "An analysis was started and did not come to its end.",
    next: "The message is the engine's own: fix the file or the setting it names.",
    exit: 1,
  },
  ANALYSIS_TOO_LARGE: {
    means: "An analysis needs more memory, cache or time than it is allowed.",
    next: "Ask for fewer days with --since and --until, allow more, or use --engine spark.",
    exit: 1,
  },
  LAKE_EMPTY: {
    means: "The lake has no files of the GPU table for the requested time.",
    next: "Check the address and the time; gpulse pipe --to parquet:FOLDER makes a lake.",
    exit: 1,
  },
  LAKE_MANIFEST: {
    means: "The manifest of a lake is damaged, incomplete or from a newer gpulse.",
    next: "Restore _commits from a backup, or remove it: the next writer lists the lake's files again.",
    exit: 1,
  },
  QUERY_INVALID: {
    means: "The hub cannot understand the expression or a parameter of a query.",
    next: "Fix what the message points at.",
    exit: 2,
  },
  QUERY_FAILED: {
    means: "The hub understood the request and could not answer it.",
    next: "The message is the hub's own: ask for less, or check the hub.",
    exit: 1,
  },
  SUBJECT_UNKNOWN: {
    means: "The hub has never seen the GPU or host that is to be compared.",
    next: "Use one of the names that the message lists.",
    exit: 2,
  },
  AGENT_UNREACHABLE: {
    means: "No gpulse answers at the address.",
    next: "Start one with gpulse up or gpulse agent, or give its --url.",
    exit: 1,
  },
  RUN_FILE: {
    means: "A .gpulserun file cannot be read, is not as it was written, or is of a newer gpulse.",
    next: "The message names the entry; get the original, or update gpulse.",
    exit: 1,
  },
  RUN_FAILED: {
    means: "A benchmark run cannot be recorded or stored as requested.",
    next: "The message names the obstacle; if it is known beforehand, the wrapped command is not started.",
    exit: 1,
  },
  KAFKA_UNREACHABLE: {
    means: "No broker of a Kafka cluster answers.",
    next: "Check that Kafka runs, and the address, port and tls= in the URL.",
    exit: 1,
  },
  KAFKA_REFUSED: {
    means:
      "A Kafka cluster refuses what was asked: an unknown topic, a wrong login, missing rights, a message that is too large.",
    next: "The message names what was refused and the option or right that fixes it.",
    exit: 1,
  },
  SCHEMA_REGISTRY: {
    means:
      "A schema registry does not answer, refuses the login, or does not take or have the schema of the messages.",
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
