// Replaces "ajv/dist/2020.js" in the bundles. The Kafka client compiles about forty schemas when it is loaded and validates with
// two of them unless its option `strict` is set: 0.3 s of processor time at every start. This version compiles a schema at its
// first validation.

"use strict";

/** @typedef {import("ajv/dist/2020").ErrorObject[] | null | undefined} Errors */

class Ajv2020 {
  /** @param {import("ajv/dist/2020").Options} options */
  constructor(options) {
    this.options = options;
    /** @type {import("ajv/dist/2020").KeywordDefinition[]} */
    this.keywords = [];
    /** @type {import("ajv/dist/2020").Ajv2020 | undefined} */
    this.compiler = undefined;
  }

  /** @param {import("ajv/dist/2020").KeywordDefinition} definition */
  addKeyword(definition) {
    this.keywords.push(definition);
    return this;
  }

  /** @param {import("ajv/dist/2020").SchemaObject} schema */
  compile(schema) {
    /** @type {import("ajv/dist/2020").ValidateFunction | undefined} */
    let compiled;
    const validate = /** @param {unknown} data */ (data) => {
      compiled ??= this.load().compile(schema);
      const isValid = compiled(data);
      validate.errors = compiled.errors;
      return isValid;
    };
    /** @type {Errors} */
    validate.errors = null;
    return validate;
  }

  /**
   * @param {Errors} errors
   * @param {import("ajv/dist/2020").ErrorsTextOptions} options
   */
  errorsText(errors, options) {
    return this.load().errorsText(errors, options);
  }

  load() {
    if (this.compiler === undefined) {
      // Without its extension: the bundler replaces the other spelling with this file.
      const ajv = require("ajv/dist/2020");
      this.compiler = new ajv.Ajv2020(this.options);
      for (const definition of this.keywords) this.compiler.addKeyword(definition);
    }
    return this.compiler;
  }
}

module.exports = { Ajv2020 };
