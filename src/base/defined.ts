/** Objects without their undefined fields, for `exactOptionalPropertyTypes` and for JSON that others read. */

export type DefinedFields<Fields> = { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> } & {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
};

export function defined<Fields extends object>(fields: Fields): DefinedFields<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as DefinedFields<Fields>;
}
