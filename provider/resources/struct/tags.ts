/** The wire types of protobuf: the lowest three bits of a tag. */
export const WIRE = { varint: 0, eightBytes: 1, withLength: 2, fourBytes: 5 } as const;

/** The tags of the fields in `google/protobuf/struct.proto`: the field number and the wire type. */
export const tag = {
  /** In a `Struct`: a key with its value. */
  field: 1 * 8 + WIRE.withLength,
  key: 1 * 8 + WIRE.withLength,
  fieldValue: 2 * 8 + WIRE.withLength,
  /** In a `ListValue`. */
  element: 1 * 8 + WIRE.withLength,
  /** In a `Value`: one of the following. */
  null: 1 * 8 + WIRE.varint,
  number: 2 * 8 + WIRE.eightBytes,
  text: 3 * 8 + WIRE.withLength,
  boolean: 4 * 8 + WIRE.varint,
  map: 5 * 8 + WIRE.withLength,
  list: 6 * 8 + WIRE.withLength,
} as const;
