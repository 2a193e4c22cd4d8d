import { globSync, readFileSync } from "node:fs";
import { sep } from "node:path";
import { API_DIRECTORY } from "../../docs/.vitepress/pages.mts";

/** A Markdown file of the repository. */
export interface MarkdownFile {
  /** Relative to the repository's root, with `/` as separator. */
  readonly path: string;
  readonly text: string;
}

/**
 * Returns the Markdown files that people read: the pages of docs/ except those that typedoc generates, the files in the
 * root and those of the examples.
 */
export function listMarkdownFiles(): MarkdownFile[] {
  const paths = globSync(["*.md", "docs/**/*.md", "examples/*/*.md"], {
    exclude: (path) => /(^|[\\/])node_modules$/.test(path),
  });
  return paths
    .map((path) => path.split(sep).join("/"))
    .filter((path) => !path.startsWith(`docs/${API_DIRECTORY}/`))
    .sort()
    .map((path) => ({ path, text: readFileSync(path, "utf8") }));
}
