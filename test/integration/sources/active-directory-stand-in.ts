import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Ber, BerReader, BerWriter } from "ldapts";

type Attributes = Readonly<Record<string, string | readonly string[]>>;

const SEARCH_REQUEST = 0x63;
const [BIND, SEARCH_ENTRY, SEARCH_DONE, EXTENDED] = [0x61, 0x64, 0x65, 0x78];
const BIND_REQUEST = 0x60;
const EXTENDED_REQUEST = 0x77;
const PROTOCOL_ERROR = 2;
const NO_SUCH_OBJECT = 32;
const SIZE_LIMIT_EXCEEDED = 4;
const PAGED_RESULTS = "1.2.840.113556.1.4.319";
const IN_CHAIN = "1.2.840.113556.1.4.1941";

/** A search as received. */
interface Search {
  readonly base: string;
  readonly isBase: boolean;
  /** The encoded filter. */
  readonly filter: Buffer;
  readonly pageSize: number;
  readonly start: number;
}

/**
 * The part of Active Directory that OpenLDAP lacks: it follows nested groups itself, by a matching rule. It writes
 * whole pages, and no more than {@link maxPageSize} entries per search without pages.
 */
export class ActiveDirectoryStandIn implements AsyncDisposable {
  static readonly base = "DC=acme,DC=example";
  readonly maxPageSize = 1_000;
  readonly searches: Search[] = [];
  readonly #entries = new Map<string, Attributes>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((socket) => {
      let received: Buffer = Buffer.alloc(0);
      socket
        .on("error", () => socket.destroy())
        .on("data", (chunk) => {
          received = Buffer.concat([received, chunk]);
          for (
            let size = measureMessage(received);
            size !== undefined && size <= received.length;
            size = measureMessage(received)
          ) {
            this.#answer(socket, new BerReader(received.subarray(0, size)));
            received = received.subarray(size);
          }
        });
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.#entries.set("", {
      defaultNamingContext: ActiveDirectoryStandIn.base,
      supportedCapabilities: ["1.2.840.113556.1.4.800", "1.2.840.113556.1.4.1670"],
    });
    return this;
  }

  get url(): string {
    return `ldap://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Adds an entry and returns its distinguished name. */
  add(name: string, attributes: Attributes): string {
    const dn = `CN=${name},CN=Users,${ActiveDirectoryStandIn.base}`;
    this.#entries.set(dn, { cn: name, ...attributes });
    return dn;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }

  #answer(socket: Socket, reader: BerReader): void {
    reader.readSequence();
    const id = reader.readInt() ?? 0;
    const operation = reader.peek();
    if (operation === BIND_REQUEST) socket.write(encodeResult(id, BIND, 0));
    else if (operation === EXTENDED_REQUEST) socket.write(encodeResult(id, EXTENDED, PROTOCOL_ERROR));
    else if (operation === SEARCH_REQUEST) this.#search(socket, id, parseSearch(reader));
    else socket.end();
  }

  #search(socket: Socket, id: number, search: Search): void {
    this.searches.push(search);
    const matches = [...this.#entries].filter(([dn, entry]) => this.#isMatch(dn, entry, search));
    const page = matches.slice(search.start, search.start + Math.min(search.pageSize, this.maxPageSize));
    for (const [dn, entry] of page) socket.write(encodeEntry(id, dn, entry));
    const end = search.start + page.length;
    const isCut = end < matches.length && search.pageSize === Number.POSITIVE_INFINITY;
    const code = isCut ? SIZE_LIMIT_EXCEEDED : search.isBase && matches.length === 0 ? NO_SUCH_OBJECT : 0;
    socket.write(encodeResult(id, SEARCH_DONE, code, end < matches.length ? String(end) : ""));
  }

  #isMatch(dn: string, entry: Attributes, { base, filter, isBase }: Search): boolean {
    if (isBase) return dn.toLowerCase() === base.toLowerCase();
    if (!dn.endsWith(base) || dn === "") return false;
    const groupName = parseChainedGroup(filter);
    if (groupName !== undefined) return "objectCategory" in entry && this.#isMember(dn, groupName, new Set());
    return [entry["cn"]]
      .flat()
      .some((cn) => filter.includes(`\x04\x02cn\x04${String.fromCharCode((cn ?? "").length)}${cn}`));
  }

  #isMember(dn: string, groupName: string, visited: Set<string>): boolean {
    if (visited.has(groupName)) return false;
    visited.add(groupName);
    const members = [this.#entries.get(groupName)?.["member"] ?? []].flat();
    return members.includes(dn) || members.some((member) => this.#isMember(dn, member, visited));
  }
}

/** Returns the size of the first message; undefined before its head has arrived. */
function measureMessage(bytes: Buffer): number | undefined {
  const [, length = 0] = bytes;
  if (bytes.length < 2) return undefined;
  if (length < 0x80) return 2 + length;
  const digits = length & 0x7f;
  return bytes.length < 2 + digits ? undefined : 2 + digits + bytes.readUIntBE(2, digits);
}

function parseSearch(reader: BerReader): Search {
  reader.readSequence(SEARCH_REQUEST);
  const base = reader.readString() ?? "";
  const isBase = reader.readEnumeration() === 0;
  reader.readEnumeration();
  reader.readInt();
  reader.readInt();
  reader.readBoolean();
  const rest = reader.remainingBuffer;
  const { cookie, size } = parsePages(rest);
  return { base, isBase, filter: Buffer.from(rest), pageSize: size, start: Number(cookie) };
}

function parsePages(rest: Buffer): { readonly size: number; readonly cookie: string } {
  const index = rest.indexOf(PAGED_RESULTS);
  if (index < 0) return { size: Number.POSITIVE_INFINITY, cookie: "" };
  const reader = new BerReader(rest.subarray(index + PAGED_RESULTS.length));
  if (reader.peek() === Ber.Boolean) reader.readBoolean();
  const value = new BerReader(reader.readString(Ber.OctetString, true) ?? Buffer.alloc(0));
  value.readSequence();
  return { size: value.readInt() ?? 0, cookie: value.readString() ?? "" };
}

/** Returns the group of a match by the rule, whose value has the tag 3 (RFC 4511, section 4.5.1). */
function parseChainedGroup(filter: Buffer): string | undefined {
  const index = filter.indexOf(IN_CHAIN);
  if (index < 0) return undefined;
  const reader = new BerReader(filter.subarray(index + IN_CHAIN.length));
  const attribute = reader.readString(0x82);
  return attribute === "memberOf" ? (reader.readString(0x83) ?? undefined) : undefined;
}

function encodeEntry(id: number, dn: string, attributes: Attributes): Buffer {
  const writer = new BerWriter();
  writer.startSequence();
  writer.writeInt(id);
  writer.startSequence(SEARCH_ENTRY);
  writer.writeString(dn);
  writer.startSequence();
  for (const [name, values] of Object.entries(attributes)) {
    writer.startSequence();
    writer.writeString(name);
    writer.startSequence(0x31);
    for (const value of [values].flat()) writer.writeString(value);
    writer.endSequence();
    writer.endSequence();
  }
  writer.endSequence();
  writer.endSequence();
  writer.endSequence();
  return writer.buffer;
}

function encodeResult(id: number, operation: number, code: number, cookie = ""): Buffer {
  const writer = new BerWriter();
  writer.startSequence();
  writer.writeInt(id);
  writer.startSequence(operation);
  writer.writeEnumeration(code);
  writer.writeString("");
  writer.writeString("");
  writer.endSequence();
  if (operation === SEARCH_DONE) {
    const value = new BerWriter();
    value.startSequence();
    value.writeInt(0);
    value.writeString(cookie);
    value.endSequence();
    writer.startSequence(0xa0);
    writer.startSequence();
    writer.writeString(PAGED_RESULTS);
    writer.writeBuffer(value.buffer, Ber.OctetString);
    writer.endSequence();
    writer.endSequence();
  }
  writer.endSequence();
  return writer.buffer;
}
