/** The YAML parser and printer, in a file of its own so that they are loaded only where there is a file to show. */
export { parseAllDocuments, stringify } from "yaml";
