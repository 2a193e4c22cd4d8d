import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** A contiguous range of IP addresses. A service may hold a range instead of a single address. */
export interface AddressRange extends AddressBounds {
  /** The same text for every spelling of the range: `203.0.113.0/24`, or `192.0.2.1-192.0.2.9` if no prefix covers it. */
  readonly canonical: string;
  readonly includes: (address: string) => boolean;
}

/**
 * Returns the canonical text of one address: RFC 5952, or the IPv4 address of an IPv4-mapped one. A prefix (`/32`, `/128`) or a dash range
 * (`192.0.2.1-192.0.2.1`) of one address becomes that address. Undefined if the text isn't a valid single address.
 */
export function parseSingleAddress(text: string): string | undefined {
  if (text.includes("-")) {
    const bounds = parseDashRange(text);
    return bounds?.first === bounds?.last && bounds !== undefined
      ? formatCanonicalAddress(buildAddress(bounds.first, bounds.width))
      : undefined;
  }
  const [, address = "", suffix = ""] = /^([^/]*)(\/.*)?$/s.exec(text) ?? [];
  const parsed = parsePlainAddress(address);
  if (parsed === undefined) return undefined;
  if (suffix !== "" && parsePrefixBits(suffix.slice(1), parsed.kind()) !== getWidth(parsed)) return undefined;
  return formatCanonicalAddress(parsed);
}

/**
 * Parses a range of addresses: `203.0.113.0/24`, `203.0.113.0/255.255.255.0`, `203.0.113.*`, `192.0.2.1-192.0.2.9`, `192.0.2.1-9`,
 * `2001:db8::/32`. Host bits may be set. Undefined for any other text, and for a range of one address.
 */
export function parseAddressRange(text: string): AddressRange | undefined {
  const bounds = parseBounds(text);
  if (bounds === undefined) return undefined;
  const { width, first, last } = unmapBounds(bounds);
  if (first >= last) return undefined;
  return {
    width,
    first,
    last,
    canonical: formatCanonicalRange({ width, first, last }),
    includes: (address) => {
      const number = parseAddressNumber(address);
      return number?.width === width && first <= number.value && number.value <= last;
    },
  };
}

/** Converts an address to a number; an IPv4-mapped address counts as IPv4. Undefined if the text isn't a valid address. */
export function parseAddressNumber(text: string): { readonly width: number; readonly value: bigint } | undefined {
  const parsed = parsePlainAddress(text);
  if (parsed === undefined) return undefined;
  const plain = unmapIPv4(parsed);
  return { width: getWidth(plain), value: toBigInt(plain) };
}

/** Returns the bounds of one address or of a range. Undefined for any other text. */
export function parseAddressBounds(text: string): AddressBounds | undefined {
  const address = parseAddressNumber(text);
  return address === undefined
    ? parseAddressRange(text)
    : { width: address.width, first: address.value, last: address.value };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface AddressBounds {
  /** In bits: 32 or 128. */
  readonly width: number;
  readonly first: bigint;
  readonly last: bigint;
}

function parsePlainAddress(text: string): Address | undefined {
  // isIP runs first because ipaddr.js reads "010.0.0.1" as octal.
  if (isIP(text) === 0 || text.includes("%")) return undefined;
  // ipaddr.js reads "::192.0.2.1" as "::ffff:192.0.2.1", which is a different address. It reads "0::192.0.2.1" correctly.
  return ipaddr.parse(text.replace(/^::(?=\d+\.)/, "0::"));
}

function unmapIPv4(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function formatCanonicalAddress(address: Address): string {
  const plain = unmapIPv4(address);
  return plain instanceof ipaddr.IPv6 ? plain.toRFC5952String() : plain.toString();
}

function getWidth(address: Address): number {
  return address.kind() === "ipv4" ? 32 : 128;
}

function toBigInt(address: Address): bigint {
  return address.toByteArray().reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

function buildAddress(value: bigint, width: number): Address {
  const bytes = Array.from({ length: width / 8 }, (_, index) =>
    Number((value >> BigInt(width - 8 * (index + 1))) & 0xffn),
  );
  return ipaddr.fromByteArray(bytes);
}

/** Returns the number of network bits in `24` or `255.255.255.0`; undefined if the text is neither a length nor a mask. */
function parsePrefixBits(text: string, kind: "ipv4" | "ipv6"): number | undefined {
  if (/^\d{1,3}$/.test(text)) {
    const bits = Number(text);
    return bits <= (kind === "ipv4" ? 32 : 128) ? bits : undefined;
  }
  if (kind !== "ipv4" || isIP(text) !== 4) return undefined;
  return ipaddr.IPv4.parse(text).prefixLengthFromSubnetMask() ?? undefined;
}

function parseBounds(text: string): AddressBounds | undefined {
  if (text.includes("/")) return parsePrefix(text);
  return text.includes("*") ? parseOctetWildcard(text) : parseDashRange(text);
}

/** Parses `203.0.113.*` or `203.0.*.*`. */
function parseOctetWildcard(text: string): AddressBounds | undefined {
  if (!/^(?:\d{1,3}\.){1,3}\*(?:\.\*)*$/.test(text)) return undefined;
  const octets = text.split(".").filter((octet) => octet !== "*");
  const network = [...octets, "0", "0", "0"].slice(0, 4).join(".");
  return parsePrefix(`${network}/${8 * octets.length}`);
}

function parsePrefix(text: string): AddressBounds | undefined {
  const slash = text.indexOf("/");
  const address = parsePlainAddress(text.slice(0, slash).trimEnd());
  if (address === undefined) return undefined;
  const bits = parsePrefixBits(text.slice(slash + 1).trimStart(), address.kind());
  if (bits === undefined) return undefined;
  const width = getWidth(address);
  const size = 1n << BigInt(width - bits);
  const first = (toBigInt(address) / size) * size;
  return { width, first, last: first + size - 1n };
}

function parseDashRange(text: string): AddressBounds | undefined {
  const [, from = "", to = ""] = /^([^\s-]+)\s*-\s*([^\s-]+)$/.exec(text) ?? [];
  const first = parsePlainAddress(from);
  // `192.0.2.1-9` omits the octets that both addresses share.
  const isOctet = first?.kind() === "ipv4" && /^\d{1,3}$/.test(to);
  const last = parsePlainAddress(isOctet ? from.replace(/\d+$/, to) : to);
  if (first === undefined || last === undefined || getWidth(first) !== getWidth(last)) return undefined;
  return { width: getWidth(first), first: toBigInt(first), last: toBigInt(last) };
}

const MAPPED_BASE = 0xffffn << 32n;

function unmapBounds({ width, first, last }: AddressBounds): AddressBounds {
  const isMapped = width === 128 && first >= MAPPED_BASE && last < MAPPED_BASE + (1n << 32n);
  return isMapped ? { width: 32, first: first - MAPPED_BASE, last: last - MAPPED_BASE } : { width, first, last };
}

function formatCanonicalRange({ width, first, last }: AddressBounds): string {
  const size = last - first + 1n;
  const bits = size.toString(2).length - 1;
  const isPrefix = size === 1n << BigInt(bits) && first % size === 0n;
  const from = formatCanonicalAddress(buildAddress(first, width));
  return isPrefix ? `${from}/${width - bits}` : `${from}-${formatCanonicalAddress(buildAddress(last, width))}`;
}
