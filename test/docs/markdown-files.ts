import { globSync, readFileSync } from "node:fs";
import { sep } from "node:path";
import { API_FOLDER } from "../../docs/.vitepress/pages.mts";

/** A Markdown file of the repository. */
export interface MarkdownFile {
  /** From the repository's root, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** What people read: the pages of docs/, but for those that typedoc makes, and what stands beside the code. */
export function markdownFiles(): MarkdownFile[] {
  const paths = globSync(["*.md", "docs/**/*.md", "examples/*/*.md"], {
    exclude: (path) => /(^|[\\/])node_modules$/.test(path),
  });
  return paths
    .map((path) => path.split(sep).join("/"))
    .filter((path) => !path.startsWith(`docs/${API_FOLDER}/`))
    .sort()
    .map((path) => ({ path, text: readFileSync(path, "utf8") }));
}
