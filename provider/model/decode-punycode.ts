import { domainToUnicode } from "node:url";

/**
 * Converts a domain or mailbox from punycode to its own script: `xn--mnchen-3ya.example` becomes `münchen.example`. Show the result next to
 * the original, never instead of it: domains in other scripts can look alike.
 */
export function decodePunycode(value: string): string | undefined {
  if (!/(?:^|[.@])xn--/i.test(value)) return undefined;
  const domainStart = value.lastIndexOf("@") + 1;
  const domain = domainToUnicode(value.slice(domainStart));
  return domain === "" || domain === value.slice(domainStart) ? undefined : `${value.slice(0, domainStart)}${domain}`;
}
