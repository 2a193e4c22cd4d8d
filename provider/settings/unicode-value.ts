import { domainToUnicode } from "node:url";

/**
 * A domain or mailbox in its own script, where it is held in punycode: `münchen.example` of `xn--mnchen-3ya.example`. To be
 * shown beside it, and never in its place: in another script one domain can look like another.
 */
export function unicodeOf(value: string): string | undefined {
  if (!/(?:^|[.@])xn--/i.test(value)) return undefined;
  const domainStart = value.lastIndexOf("@") + 1;
  const domain = domainToUnicode(value.slice(domainStart));
  return domain === "" || domain === value.slice(domainStart)
    ? undefined
    : `${value.slice(0, domainStart)}${domain}`;
}
