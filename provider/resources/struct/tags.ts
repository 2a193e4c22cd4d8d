/** The wire types of protobuf: the lowest three bits of a tag. */
export const WIRE_TYPES = { varint: 0, fixed64: 1, lengthDelimited: 2, fixed32: 5 } as const;

/** The tags of the fields in `google/protobuf/struct.proto`: the field number and the wire type. */
export const tag = {
  /** In a `Struct`: a key with its value. */
  field: 1 * 8 + WIRE_TYPES.lengthDelimited,
  key: 1 * 8 + WIRE_TYPES.lengthDelimited,
  fieldValue: 2 * 8 + WIRE_TYPES.lengthDelimited,
  /** In a `ListValue`. */
  element: 1 * 8 + WIRE_TYPES.lengthDelimited,
  /** In a `Value`: one of the following. */
  null: 1 * 8 + WIRE_TYPES.varint,
  number: 2 * 8 + WIRE_TYPES.fixed64,
  text: 3 * 8 + WIRE_TYPES.lengthDelimited,
  boolean: 4 * 8 + WIRE_TYPES.varint,
  map: 5 * 8 + WIRE_TYPES.lengthDelimited,
  list: 6 * 8 + WIRE_TYPES.lengthDelimited,
} as const;
