import { getHostMessages } from "./dynamic-host";
import { PROVIDER_PROPERTY } from "./pulumi-values";
import { readStruct } from "./struct/read-struct";
import { writeStruct } from "./struct/write-struct";

/*
 * Pulumi's host of dynamic resources reads and writes properties with google-protobuf's `Struct`, which creates several
 * objects for each value. For a list of thousands, this takes most of a run's time and memory. So incoming properties
 * of our resources stay as bytes until their plain object is requested, and outgoing ones are serialized immediately.
 * All other uses of such a message first parse its bytes with google-protobuf. If the host's API differs from what is
 * expected, google-protobuf handles everything, as before.
 */

/** google-protobuf's message class for properties, as far as the host and the enclosing messages use it. */
interface StructClass {
  new (): HostStruct;
  readonly prototype: HostStruct;
  fromJavaScript(properties: object): HostStruct;
  deserializeBinary(bytes: Uint8Array): HostStruct;
  deserializeBinaryFromReader(struct: HostStruct, reader: Reader): HostStruct;
  serializeBinaryToWriter(struct: HostStruct, writer: Writer): void;
}

interface HostStruct {
  getFieldsMap(noLazyCreate?: boolean): HostFields;
  toJavaScript(): object;
  serializeBinary(): Uint8Array;
}

interface HostFields {
  forEach(each: (value: unknown, name: string) => void): void;
  set(name: string, value: unknown): void;
}

type ReaderClass = new (bytes: Uint8Array) => Reader;

interface Reader {
  nextField(): boolean;
  isEndGroup(): boolean;
  skipField(): void;
  getCursor(): number;
  getBuffer(): Uint8Array;
}

interface Writer {
  writeSerializedMessage(bytes: Uint8Array, start: number, end: number): void;
}

interface HostStructMessages {
  readonly CheckRequest: { deserializeBinary(bytes: Uint8Array): { getOlds(): object } };
}

const preparedClasses = new WeakSet<object>();

/** Patches the host once to read and write properties this way. */
export function enableLazyStructs(messages: unknown = getHostMessages()): void {
  try {
    const Struct = findStructClass(messages as HostStructMessages);
    if (preparedClasses.has(Struct) || !isCompatible(Struct)) return;
    preparedClasses.add(Struct);
    replaceStructMethods(Struct);
  } catch {
    // As without.
  }
}

/** Returns the class of the host's own copy of google-protobuf. Throws if there is none. */
function findStructClass({ CheckRequest }: HostStructMessages): StructClass {
  const empty = CheckRequest.deserializeBinary(Uint8Array.of(0x12, 0)).getOlds();
  return empty.constructor as StructClass;
}

/** Returns whether its serialization matches ours in both directions. */
function isCompatible(Struct: StructClass): boolean {
  const sample = { list: ["é", -1.5, null, { "": true }], map: {}, text: "" };
  const expectedBytes = Struct.fromJavaScript(sample).serializeBinary();
  const ownBytes = writeStruct(sample);
  if (Buffer.compare(expectedBytes, ownBytes) !== 0) return false;
  const readJson = JSON.stringify(Struct.deserializeBinary(ownBytes).toJavaScript());
  return readJson === JSON.stringify(readStruct(ownBytes));
}

function replaceStructMethods(Struct: StructClass): void {
  const { fromJavaScript, deserializeBinaryFromReader, serializeBinaryToWriter } = Struct;
  const { getFieldsMap, toJavaScript } = Struct.prototype;
  const unreadStructs = new WeakMap<HostStruct, LazyStruct>();
  const readPending = (struct: HostStruct): void => {
    const fullStruct = unreadStructs.get(struct)?.read();
    unreadStructs.delete(struct);
    if (fullStruct === undefined) return;
    const fields = getFieldsMap.call(struct);
    getFieldsMap.call(fullStruct).forEach((value, name) => {
      fields.set(name, value);
    });
  };

  Struct.deserializeBinaryFromReader = (struct, reader) => {
    const start = reader.getCursor();
    while (reader.nextField() && !reader.isEndGroup()) reader.skipField();
    const bytes = reader.getBuffer().subarray(start, reader.getCursor());
    const Reader = reader.constructor as ReaderClass;
    if (!hasPackageMarker(bytes)) return deserializeBinaryFromReader.call(Struct, struct, new Reader(bytes));
    unreadStructs.set(struct, {
      bytes,
      read: () => deserializeBinaryFromReader.call(Struct, new Struct(), new Reader(bytes)),
    });
    return struct;
  };
  Struct.fromJavaScript = (properties) => {
    const bytes = hasPackageProvider(properties)
      ? tryOrUndefined(() => writeStruct(properties as Readonly<Record<string, unknown>>))
      : undefined;
    if (bytes === undefined) return fromJavaScript.call(Struct, properties);
    const struct = new Struct();
    unreadStructs.set(struct, { bytes, read: () => fromJavaScript.call(Struct, readStruct(bytes)) });
    return struct;
  };
  Struct.serializeBinaryToWriter = (struct, writer) => {
    const bytes = unreadStructs.get(struct)?.bytes;
    if (bytes === undefined) serializeBinaryToWriter.call(Struct, struct, writer);
    else writer.writeSerializedMessage(bytes, 0, bytes.length);
  };
  Struct.prototype.toJavaScript = function () {
    const bytes = unreadStructs.get(this)?.bytes;
    const properties = bytes === undefined ? undefined : tryOrUndefined(() => readStruct(bytes));
    return properties ?? toJavaScript.call(this);
  };
  // All generated code accesses the content of a message through this method.
  Struct.prototype.getFieldsMap = function (noLazyCreate) {
    readPending(this);
    return getFieldsMap.call(this, noLazyCreate);
  };
}

/** A text in the properties of all our resources and no others, because the host serves others too. */
const PACKAGE_MARKER = "pulumi-email-security/runtime";

function hasPackageMarker({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(PACKAGE_MARKER);
}

function hasPackageProvider(properties: object | null | undefined): boolean {
  const { [PROVIDER_PROPERTY]: provider } = (properties ?? {}) as Readonly<Record<string, unknown>>;
  return typeof provider === "string" && provider.includes(PACKAGE_MARKER);
}

/** A message that google-protobuf hasn't parsed yet: its bytes, and how to parse them. */
interface LazyStruct {
  readonly bytes: Uint8Array;
  readonly read: () => HostStruct;
}

/** Returns undefined on failure: google-protobuf then reads, writes or rejects the value itself. */
function tryOrUndefined<Result>(make: () => Result): Result | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
