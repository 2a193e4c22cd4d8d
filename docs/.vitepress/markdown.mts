/** What the pages' Markdown means beyond what VitePress knows. */
import type { MarkdownOptions } from "vitepress";
import { pageList } from "./pages.mts";

type MarkdownIt = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

/** The languages whose blocks are files, where a name follows. */
const FILE_LANGUAGES: ReadonlySet<string> = new Set([
  "go",
  "ini",
  "js",
  "json",
  "jsonc",
  "python",
  "toml",
  "ts",
  "yaml",
]);

/** The name of the file that a block is, by its fence: `index.ts` for "```ts index.ts". */
export function fileName(info: string): string | undefined {
  const [language = "", name = ""] = info.trim().split(/\s+/);
  return FILE_LANGUAGES.has(language) && /^[\w@.*/-]*(\.|file$)\w*$/i.test(name) ? name : undefined;
}

export function addRules(md: MarkdownIt): void {
  nameFiles(md);
  listPages(md);
  showBraces(md);
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

/** Puts the list of a folder's pages in the place of `<!-- pages: FOLDER -->`, so that nobody keeps it by hand. */
function listPages(md: MarkdownIt): void {
  md.core.ruler.before("normalize", "pages", (state) => {
    const path: unknown = state.env?.relativePath;
    if (typeof path !== "string") return;
    state.src = state.src.replace(/^<!-- pages: ([\w/-]+) -->$/gm, (_, folder: string) =>
      pageList(folder, path),
    );
  });
}

/** Two braces are text, in prose and in code between back-ticks: pages hold no expressions of Vue. */
function showBraces(md: MarkdownIt): void {
  for (const name of ["text", "code_inline"] as const) {
    const rule = md.renderer.rules[name];
    if (!rule) continue;
    md.renderer.rules[name] = (...args) => rule(...args).replaceAll("{{", "&#123;&#123;");
  }
}
