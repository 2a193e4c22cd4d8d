import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** A contiguous range of IP addresses, as a service may hold one in the place of a single address. */
export interface AddressRange extends Bounds {
  /** The same for every spelling of the range: `203.0.113.0/24`, or `192.0.2.1-192.0.2.9` where no prefix covers it. */
  readonly canonical: string;
  readonly includes: (address: string) => boolean;
}

/**
 * The canonical text of one address: RFC 5952, and the IPv4 address of an IPv4-mapped one. A prefix (`/32`, `/128`) or a dash range
 * (`192.0.2.1-192.0.2.1`) of one address is that address. Undefined where it isn't one.
 */
export function parseSingleAddress(text: string): string | undefined {
  if (text.includes("-")) {
    const bounds = boundsOfDash(text);
    return bounds?.first === bounds?.last && bounds !== undefined
      ? canonicalText(addressOf(bounds.first, bounds.width))
      : undefined;
  }
  const [, address = "", suffix = ""] = /^([^/]*)(\/.*)?$/s.exec(text) ?? [];
  const parsed = parsePlainAddress(address);
  if (parsed === undefined) return undefined;
  if (suffix !== "" && prefixBits(suffix.slice(1), parsed.kind()) !== widthOf(parsed)) return undefined;
  return canonicalText(parsed);
}

/**
 * Reads a range of addresses: `203.0.113.0/24`, `203.0.113.0/255.255.255.0`, `203.0.113.*`, `192.0.2.1-192.0.2.9`, `192.0.2.1-9`,
 * `2001:db8::/32`. Bits of the host may be set. Undefined for all else, and for a range of one address.
 */
export function parseAddressRange(text: string): AddressRange | undefined {
  const bounds = boundsOf(text);
  if (bounds === undefined) return undefined;
  const { width, first, last } = asIPv4(bounds);
  if (first >= last) return undefined;
  return {
    width,
    first,
    last,
    canonical: canonicalRange({ width, first, last }),
    includes: (address) => {
      const number = addressNumber(address);
      return number?.width === width && first <= number.value && number.value <= last;
    },
  };
}

/** An address as a number, an IPv4-mapped one as the IPv4 address; undefined where it isn't one. */
export function addressNumber(text: string): { readonly width: number; readonly value: bigint } | undefined {
  const parsed = parsePlainAddress(text);
  if (parsed === undefined) return undefined;
  const plain = unmapped(parsed);
  return { width: widthOf(plain), value: numberOf(plain) };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The first and the last address of a range, as numbers. */
interface Bounds {
  /** In bits: 32 or 128. */
  readonly width: number;
  readonly first: bigint;
  readonly last: bigint;
}

function parsePlainAddress(text: string): Address | undefined {
  // ipaddr.js reads "010.0.0.1" as octal, so isIP goes first.
  if (isIP(text) === 0 || text.includes("%")) return undefined;
  // ipaddr.js also reads "::192.0.2.1" as "::ffff:192.0.2.1", which is another address; "0::192.0.2.1" it reads right.
  return ipaddr.parse(text.replace(/^::(?=\d+\.)/, "0::"));
}

function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function canonicalText(address: Address): string {
  const plain = unmapped(address);
  return plain instanceof ipaddr.IPv6 ? plain.toRFC5952String() : plain.toString();
}

function widthOf(address: Address): number {
  return address.kind() === "ipv4" ? 32 : 128;
}

function numberOf(address: Address): bigint {
  return address.toByteArray().reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

function addressOf(value: bigint, width: number): Address {
  const bytes = Array.from({ length: width / 8 }, (_, index) =>
    Number((value >> BigInt(width - 8 * (index + 1))) & 0xffn),
  );
  return ipaddr.fromByteArray(bytes);
}

/** How many bits of the network `24` or `255.255.255.0` says; undefined where it says neither. */
function prefixBits(text: string, kind: "ipv4" | "ipv6"): number | undefined {
  if (/^\d{1,3}$/.test(text)) {
    const bits = Number(text);
    return bits <= (kind === "ipv4" ? 32 : 128) ? bits : undefined;
  }
  if (kind !== "ipv4" || isIP(text) !== 4) return undefined;
  return ipaddr.IPv4.parse(text).prefixLengthFromSubnetMask() ?? undefined;
}

function boundsOf(text: string): Bounds | undefined {
  if (text.includes("/")) return boundsOfPrefix(text);
  return text.includes("*") ? boundsOfOctets(text) : boundsOfDash(text);
}

/** `203.0.113.*`, `203.0.*.*`. */
function boundsOfOctets(text: string): Bounds | undefined {
  if (!/^(?:\d{1,3}\.){1,3}\*(?:\.\*)*$/.test(text)) return undefined;
  const octets = text.split(".").filter((octet) => octet !== "*");
  const network = [...octets, "0", "0", "0"].slice(0, 4).join(".");
  return boundsOfPrefix(`${network}/${8 * octets.length}`);
}

function boundsOfPrefix(text: string): Bounds | undefined {
  const at = text.indexOf("/");
  const address = parsePlainAddress(text.slice(0, at).trimEnd());
  if (address === undefined) return undefined;
  const bits = prefixBits(text.slice(at + 1).trimStart(), address.kind());
  if (bits === undefined) return undefined;
  const width = widthOf(address);
  const size = 1n << BigInt(width - bits);
  const first = (numberOf(address) / size) * size;
  return { width, first, last: first + size - 1n };
}

function boundsOfDash(text: string): Bounds | undefined {
  const [, from = "", to = ""] = /^([^\s-]+)\s*-\s*([^\s-]+)$/.exec(text) ?? [];
  const first = parsePlainAddress(from);
  // `192.0.2.1-9` leaves out the octets that both have in common.
  const isOctet = first?.kind() === "ipv4" && /^\d{1,3}$/.test(to);
  const last = parsePlainAddress(isOctet ? from.replace(/\d+$/, to) : to);
  if (first === undefined || last === undefined || widthOf(first) !== widthOf(last)) return undefined;
  return { width: widthOf(first), first: numberOf(first), last: numberOf(last) };
}

const MAPPED = 0xffffn << 32n;

/** A range of IPv4-mapped addresses is one of IPv4 addresses. */
function asIPv4({ width, first, last }: Bounds): Bounds {
  const isMapped = width === 128 && first >= MAPPED && last < MAPPED + (1n << 32n);
  return isMapped ? { width: 32, first: first - MAPPED, last: last - MAPPED } : { width, first, last };
}

function canonicalRange({ width, first, last }: Bounds): string {
  const size = last - first + 1n;
  const bits = size.toString(2).length - 1;
  const isPrefix = size === 1n << BigInt(bits) && first % size === 0n;
  const from = canonicalText(addressOf(first, width));
  return isPrefix ? `${from}/${width - bits}` : `${from}-${canonicalText(addressOf(last, width))}`;
}
