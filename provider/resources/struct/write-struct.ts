import { PULUMI_UNKNOWN, UNKNOWN } from "../../model/unknown-value";
import { getSortedKeys } from "./sorted-keys";
import { tag } from "./tags";

/**
 * Encodes plain data directly in the wire format of `google.protobuf.Struct`, which {@link readStruct} decodes.
 * `UNKNOWN` becomes Pulumi's marker for unknown values.
 *
 * @throws {Error} if a value isn't plain data.
 */
export function writeStruct(properties: Readonly<Record<string, unknown>>): Buffer {
  if (!isPlainObject(properties)) throw new Error("properties that aren't a plain map can't be sent to Pulumi");
  const writer = new StructWriter();
  writer.writeFields(properties);
  return writer.toBuffer();
}

/** Writes from the end to the beginning, because the length of a field is then known before its length prefix is written. */
class StructWriter {
  #bytes = Buffer.allocUnsafe(512);
  #length = 0;

  toBuffer(): Buffer {
    return this.#bytes.subarray(this.#bytes.length - this.#length);
  }

  writeFields(map: Readonly<Record<string, unknown>>): void {
    for (const name of getSortedKeys(map).reverse()) {
      const startLength = this.#length;
      this.#writeValue(map[name], tag.fieldValue);
      this.#writeText(name, tag.key);
      this.#writeHeader(startLength, tag.field);
    }
  }

  #writeValue(value: unknown, field: number): void {
    const startLength = this.#length;
    if (typeof value === "string") this.#writeText(value, tag.text);
    else if (value === UNKNOWN) this.#writeText(PULUMI_UNKNOWN, tag.text);
    else if (value === null) this.#writeSmallInteger(0, tag.null);
    else if (typeof value === "number") this.#writeNumber(value);
    else if (typeof value === "boolean") this.#writeSmallInteger(Number(value), tag.boolean);
    else if (Array.isArray(value)) this.#writeList(value);
    else if (isPlainObject(value)) this.#writeMap(value);
    else throw new Error(`a value of type ${typeof value} can't be sent to Pulumi`);
    this.#writeHeader(startLength, field);
  }

  #writeMap(map: Readonly<Record<string, unknown>>): void {
    const startLength = this.#length;
    this.writeFields(map);
    this.#writeHeader(startLength, tag.map);
  }

  #writeList(list: readonly unknown[]): void {
    const startLength = this.#length;
    for (const element of list.toReversed()) this.#writeValue(element, tag.element);
    this.#writeHeader(startLength, tag.list);
  }

  #writeText(text: string, field: number): void {
    const startLength = this.#length;
    const length = Buffer.byteLength(text);
    const offset = this.#reserve(length);
    this.#bytes.write(text, offset, length);
    this.#writeHeader(startLength, field);
  }

  #writeNumber(number: number): void {
    const offset = this.#reserve(8);
    this.#bytes.writeDoubleLE(number, offset);
    this.#writeByte(tag.number);
  }

  #writeSmallInteger(number: number, field: number): void {
    this.#writeByte(number);
    this.#writeByte(field);
  }

  /** Writes the tag and the length prefix of a field. @param startLength the number of bytes written before the field. */
  #writeHeader(startLength: number, field: number): void {
    const length = this.#length - startLength;
    // The length has seven bits per byte, lowest first. All bytes but the last have the continuation bit set.
    let unit = 1;
    while (length / unit >= 0x80) unit *= 0x80;
    for (let continuationBit = 0; unit >= 1; unit /= 0x80, continuationBit = 0x80)
      this.#writeByte((Math.floor(length / unit) % 0x80) | continuationBit);
    this.#writeByte(field);
  }

  #writeByte(byte: number): void {
    const offset = this.#reserve(1);
    this.#bytes[offset] = byte;
  }

  /** Reserves bytes before those already written. @returns the offset of the reserved bytes. */
  #reserve(count: number): number {
    const { length } = this.#bytes;
    if (this.#length + count > length) {
      const written = this.toBuffer();
      this.#bytes = Buffer.allocUnsafe(2 * (length + count));
      written.copy(this.#bytes, this.#bytes.length - written.length);
    }
    this.#length += count;
    return this.#bytes.length - this.#length;
  }
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
