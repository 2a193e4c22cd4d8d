/** What the pages' Markdown means beyond what VitePress knows. */

import { posix } from "node:path";
import type { MarkdownOptions } from "vitepress";

type MarkdownIt = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

/** The name of the file that a block is, by its fence: `index.ts` for "```ts index.ts". */
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

/** Shows the name of a file above the block that is its text. */
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

/** Two braces are text, in prose and in code between back-ticks: pages hold no expressions of Vue. */
function showBraces(md: MarkdownIt): void {
  for (const name of ["text", "code_inline"] as const) {
    const rule = md.renderer.rules[name];
    if (!rule) continue;
    md.renderer.rules[name] = (...args) => rule(...args).replaceAll("{{", "&#123;&#123;");
  }
}

/** A link out of the docs leads to a file of the repository, which the site doesn't have: there it is told as text. */
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

/** The file of the repository that a page's link leads to; undefined when it leads to a page, or out of the repository. */
function outsideOf(page: string, href: string): string | undefined {
  if (/^([a-z][a-z\d+.-]*:|\/|#)/i.test(href)) return undefined;
  const target = posix.join(posix.dirname(page), decodeURI(href));
  return target.startsWith("../") ? target.slice("../".length) : undefined;
}

/** A column without a name has no header: an empty one is read out as one. */
function emptyHeaders(md: MarkdownIt): void {
  md.core.ruler.push("empty-headers", ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type !== "th_open" || tokens[index + 1]?.content !== "") continue;
      for (const cell of [token, tokens[index + 2]]) if (cell) cell.tag = "td";
    }
  });
}
