/** The YAML parser, in a file of its own so that it is loaded only if there is a file to read. */
export { Document, LineCounter, parseAllDocuments, visit } from "yaml";
