/** The YAML parser and printer, in a separate file so that they are loaded only when there is a file to show. */
export { parseAllDocuments, stringify } from "yaml";
