/** The YAML parser, in a file of its own so that it is loaded only where there is a file to read. */
export { LineCounter, parseDocument, visit } from "yaml";
