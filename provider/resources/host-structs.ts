import { getHostMessages } from "./dynamic-host";
import { PROVIDER_PROPERTY } from "./pulumi-values";
import { readStruct } from "./struct/read-struct";
import { writeStruct } from "./struct/write-struct";

/*
 * Pulumi's host of dynamic resources reads and writes properties by google-protobuf's `Struct`, which makes several objects of each
 * value: of a list of thousands that is most of what a run takes, in time and in memory. So what the host is told from
 * now on of our resources stays as it came until its plain object is asked for, and what it answers of them is written when it is given. Whatever else
 * is asked of such a message is asked of what google-protobuf makes of its bytes, and where anything is not as known, that does
 * all, as before.
 */

/** The class of google-protobuf's messages that hold properties, as far as the host and the messages around them use it. */
interface StructClass {
  new (): Struct;
  readonly prototype: Struct;
  fromJavaScript(properties: object): Struct;
  deserializeBinary(bytes: Uint8Array): Struct;
  deserializeBinaryFromReader(struct: Struct, reader: Reader): Struct;
  serializeBinaryToWriter(struct: Struct, writer: Writer): void;
}

interface Struct {
  getFieldsMap(noLazyCreate?: boolean): Fields;
  toJavaScript(): object;
  serializeBinary(): Uint8Array;
}

interface Fields {
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

/** Sees to it, once, that the host reads and writes properties so. */
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

/** The class that the host's messages are made with: of its own copy of google-protobuf. Throws where there is none. */
function findStructClass({ CheckRequest }: HostStructMessages): StructClass {
  const empty = CheckRequest.deserializeBinary(Uint8Array.of(0x12, 0)).getOlds();
  return empty.constructor as StructClass;
}

/** Whether it writes what is written here, and reads that as it is read here. */
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
  const unreadStructs = new WeakMap<Struct, LazyStruct>();
  const readPending = (struct: Struct): void => {
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
  // By this, all code that is generated for the messages gets at what they hold.
  Struct.prototype.getFieldsMap = function (noLazyCreate) {
    readPending(this);
    return getFieldsMap.call(this, noLazyCreate);
  };
}

/** What stands in the properties of every resource of ours, and of no other: the host serves others too. */
const PACKAGE_MARKER = "pulumi-email-security/runtime";

function hasPackageMarker({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes(PACKAGE_MARKER);
}

function hasPackageProvider(properties: object | null | undefined): boolean {
  const { [PROVIDER_PROPERTY]: provider } = (properties ?? {}) as Readonly<Record<string, unknown>>;
  return typeof provider === "string" && provider.includes(PACKAGE_MARKER);
}

/** What google-protobuf has not been asked to read: its bytes, and how it reads them. */
interface LazyStruct {
  readonly bytes: Uint8Array;
  readonly read: () => Struct;
}

/** What can't be read or written so, google-protobuf reads, writes or refuses in its own way. */
function tryOrUndefined<Result>(make: () => Result): Result | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
