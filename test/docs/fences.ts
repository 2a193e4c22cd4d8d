import MarkdownIt, { type Token } from "markdown-it";
import { parse } from "yaml";
import type { MarkdownFile } from "./markdown-files";

/** A code block of a Markdown file. */
export interface Fence {
  readonly path: string;
  /** The line of its opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  /** The text after the language. */
  readonly annotation: string;
  readonly text: string;
  /** The file name in its fence. Undefined if there is none. */
  readonly file: string | undefined;
  /** Whether its fence says `no-run` or `no-check`. */
  readonly isLeftOut: boolean;
  /** Whether it directly follows another code block. */
  readonly isRightAfter: boolean;
}

/** A Markdown file and its code blocks. */
export interface FencedFile {
  readonly path: string;
  readonly frontMatter: Readonly<Record<string, unknown>>;
  readonly fences: readonly Fence[];
}

/** A problem in a code block, with a suggestion. */
export interface Problem {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Formats a problem, so that one assertion can show all of them. */
export function formatProblem({ path, line, message }: Problem): string {
  return `${path}:${line}: ${message}`;
}

const markdown = new MarkdownIt({ html: true });

/** Parses the code blocks of a file, including those in lists. */
export function parseFences({ path, text }: MarkdownFile): FencedFile {
  const [matter = "", yaml = ""] = /^---\r?\n(.*?)^---\s*$/ms.exec(text) ?? [];
  const isMatter = text.startsWith(matter);
  // Blanks the front matter instead of removing it, to preserve line numbers.
  const body = isMatter ? matter.replace(/[^\n]/g, "") + text.slice(matter.length) : text;
  const fences = markdown
    .parse(body, {})
    .map((token, index, all) => ({ ...token, isRightAfter: isBlock(all[index - 1]) }))
    .filter(isBlock)
    .map(({ info, content, map, isRightAfter }): Fence => {
      const [language = ""] = info.trim().split(/\s+/, 1);
      const annotation = info.trim().slice(language.length).trim();
      const isLeftOut = /^no-(run|check):/.test(annotation);
      const isFile = !isLeftOut && !["sh", "text"].includes(language) && /^[^\s:]*[./][^\s:]*$/.test(annotation);
      const file = isFile ? annotation : undefined;
      return {
        path,
        line: (map?.[0] ?? 0) + 1,
        language,
        annotation,
        text: content,
        file,
        isLeftOut,
        isRightAfter,
      };
    });
  const frontMatter = (isMatter ? (parse(yaml) as Record<string, unknown> | null) : null) ?? {};
  return { path, frontMatter, fences };
}

function isBlock(token: Pick<Token, "type"> | undefined): boolean {
  return token?.type === "fence" || token?.type === "code_block";
}

/**
 * Returns the files that a page has shown up to and including one of its blocks, by name. Later versions replace
 * earlier ones.
 */
export function collectFilesUpTo({ fences }: FencedFile, last: Fence): Map<string, string> {
  const visibleFences = fences.slice(0, fences.indexOf(last) + 1);
  return new Map(visibleFences.flatMap(({ file, text }) => (file === undefined ? [] : [[file, text]])));
}
