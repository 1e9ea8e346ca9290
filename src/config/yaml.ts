/** The YAML parser, in a file of its own so that it is loaded only if there is a file to read (8 MB resident). */
export { LineCounter, parse, parseDocument, stringify } from "yaml";
