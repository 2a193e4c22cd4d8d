/** How a field goes over the wire, by the lowest three bits of its tag. */
export const WIRE = { varint: 0, eightBytes: 1, withLength: 2, fourBytes: 5 } as const;

/** What stands before each field of `google/protobuf/struct.proto`: its number, and how it goes over the wire. */
export const tag = {
  /** Of a `Struct`, a key with its value. */
  field: 1 * 8 + WIRE.withLength,
  key: 1 * 8 + WIRE.withLength,
  fieldValue: 2 * 8 + WIRE.withLength,
  /** Of a `ListValue`. */
  element: 1 * 8 + WIRE.withLength,
  /** Of a `Value`, one of these. */
  null: 1 * 8 + WIRE.varint,
  number: 2 * 8 + WIRE.eightBytes,
  text: 3 * 8 + WIRE.withLength,
  boolean: 4 * 8 + WIRE.varint,
  map: 5 * 8 + WIRE.withLength,
  list: 6 * 8 + WIRE.withLength,
} as const;
