import type { SourceItem } from "../source-content";

/** A line of a hosts file: an address that leads nowhere, and a name. */
const HOSTS_LINE = /^(?:0\.0\.0\.0|127\.0\.0\.1|::1?)\s+(\S+)$/;

/** Parses a feed with one value per line. Comments start with `#`, `;` or `//`, in a line of their own or after a value and a space. */
export function parseTextFeed(text: string): SourceItem[] {
  const items: SourceItem[] = [];
  for (const line of text.replace(/^\uFEFF/, "").split(/\r\n?|\n/)) {
    const content = line.replace(/(?:^|\s)(?:#|;|\/\/).*$/, "").trim();
    if (content === "") continue;
    items.push({ value: HOSTS_LINE.exec(content)?.[1] ?? content });
  }
  return items;
}
