/** Extends VitePress's Markdown for the pages of the site. */

import { posix } from "node:path";
import type { MarkdownOptions } from "vitepress";

type MarkdownIt = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

/** Returns the file name in the info string of a code block: `index.ts` for "```ts index.ts". */
export function fileName(info: string): string | undefined {
  const [, language, name] = /^(\S+)\s+([^\s:]*[./][^\s:]*)$/.exec(info.trim()) ?? [];
  return language === "sh" || language === "text" ? undefined : name;
}

export function addRules(md: MarkdownIt): void {
  nameFiles(md);
  showBraces(md);
  unlinkRepository(md);
  emptyHeaders(md);
}

/** Shows the file name above a code block. */
function nameFiles(md: MarkdownIt): void {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (...args) => {
    const [tokens, index] = args;
    const name = fileName(tokens[index]?.info ?? "");
    const block = fence?.(...args) ?? "";
    if (name === undefined) return block;
    return `<figure class="file"><figcaption>${md.utils.escapeHtml(name)}</figcaption>${block}</figure>`;
  };
}

/** Escapes double braces in prose and inline code, because pages contain no Vue expressions. */
function showBraces(md: MarkdownIt): void {
  for (const name of ["text", "code_inline"] as const) {
    const rule = md.renderer.rules[name];
    if (!rule) continue;
    md.renderer.rules[name] = (...args) => rule(...args).replaceAll("{{", "&#123;&#123;");
  }
}

/** Renders links to repository files outside `docs/` as text, because the site doesn't contain these files. */
function unlinkRepository(md: MarkdownIt): void {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    const path: unknown = env?.relativePath;
    if (typeof path !== "string") return;
    for (const { children } of tokens) {
      let outside = 0;
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const file = outsideOf(path, token.attrGet("href") ?? "");
          if (file === undefined) continue;
          outside++;
          token.type = "html_inline";
          token.content = `<span class="in-repository" title="${md.utils.escapeHtml(file)}, in the repository">`;
        } else if (token.type === "link_close" && outside > 0) {
          outside--;
          token.type = "html_inline";
          token.content = "</span>";
        }
      }
    }
  });
}

/** Returns the repository file that a link of a page leads to; undefined if it leads to a page or to another site. */
function outsideOf(page: string, href: string): string | undefined {
  if (/^([a-z][a-z\d+.-]*:|\/|#)/i.test(href)) return undefined;
  const target = posix.join(posix.dirname(page), decodeURI(href));
  return target.startsWith("../") ? target.slice("../".length) : undefined;
}

/** Replaces empty header cells with data cells, because screen readers announce empty headers. */
function emptyHeaders(md: MarkdownIt): void {
  md.core.ruler.push("empty-headers", ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type !== "th_open" || tokens[index + 1]?.content !== "") continue;
      for (const cell of [token, tokens[index + 2]]) if (cell) cell.tag = "td";
    }
  });
}
