import { PULUMI_UNKNOWN, UNKNOWN } from "../../settings/unknown";
import { keysInOrder } from "./keys-in-order";
import { tag } from "./tags";

/**
 * Writes plain data as a `google.protobuf.Struct` goes over the wire, straight, as {@link readStruct} reads it;
 * `UNKNOWN` as Pulumi tells what is not known yet.
 *
 * @throws {Error} for what is no plain data.
 */
export function writeStruct(properties: Readonly<Record<string, unknown>>): Buffer {
  if (!isPlain(properties)) throw new Error("properties that are no plain map can't be told to Pulumi");
  const writer = new Writer();
  writer.fields(properties);
  return writer.written();
}

/** Writes from the end to the beginning: then the length of what is written is known where it stands before it. */
class Writer {
  #bytes = Buffer.allocUnsafe(512);
  #length = 0;

  written(): Buffer {
    return this.#bytes.subarray(this.#bytes.length - this.#length);
  }

  fields(map: Readonly<Record<string, unknown>>): void {
    for (const name of keysInOrder(map).reverse()) {
      const after = this.#length;
      this.#value(map[name], tag.fieldValue);
      this.#text(name, tag.key);
      this.#head(after, tag.field);
    }
  }

  /** @param field what the value is of what it stands in. */
  #value(value: unknown, field: number): void {
    const after = this.#length;
    if (typeof value === "string") this.#text(value, tag.text);
    else if (value === UNKNOWN) this.#text(PULUMI_UNKNOWN, tag.text);
    else if (value === null) this.#short(0, tag.null);
    else if (typeof value === "number") this.#number(value);
    else if (typeof value === "boolean") this.#short(Number(value), tag.boolean);
    else if (Array.isArray(value)) this.#list(value);
    else if (isPlain(value)) this.#map(value);
    else throw new Error(`a value of type ${typeof value} can't be told to Pulumi`);
    this.#head(after, field);
  }

  #map(map: Readonly<Record<string, unknown>>): void {
    const after = this.#length;
    this.fields(map);
    this.#head(after, tag.map);
  }

  #list(list: readonly unknown[]): void {
    const after = this.#length;
    for (const element of list.toReversed()) this.#value(element, tag.element);
    this.#head(after, tag.list);
  }

  #text(text: string, field: number): void {
    const after = this.#length;
    const length = Buffer.byteLength(text);
    const at = this.#back(length);
    this.#bytes.write(text, at, length);
    this.#head(after, field);
  }

  #number(number: number): void {
    const at = this.#back(8);
    this.#bytes.writeDoubleLE(number, at);
    this.#byte(tag.number);
  }

  #short(number: number, field: number): void {
    this.#byte(number);
    this.#byte(field);
  }

  /** What stands before a field: what it is, and how long. @param after how much was written before it was. */
  #head(after: number, field: number): void {
    const length = this.#length - after;
    // Seven bits a byte, the lowest first, and each byte but the last says that more follow.
    let unit = 1;
    while (length / unit >= 0x80) unit *= 0x80;
    for (let mark = 0; unit >= 1; unit /= 0x80, mark = 0x80)
      this.#byte((Math.floor(length / unit) % 0x80) | mark);
    this.#byte(field);
  }

  #byte(byte: number): void {
    const at = this.#back(1);
    this.#bytes[at] = byte;
  }

  /** Goes so many bytes back. @returns the place there. */
  #back(count: number): number {
    const { length } = this.#bytes;
    if (this.#length + count > length) {
      const written = this.written();
      this.#bytes = Buffer.allocUnsafe(2 * (length + count));
      written.copy(this.#bytes, this.#bytes.length - written.length);
    }
    this.#length += count;
    return this.#bytes.length - this.#length;
  }
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
