import MarkdownIt, { type Token } from "markdown-it";
import { parse } from "yaml";
import type { MarkdownFile } from "./markdown-files";

/** A code block of a Markdown file. */
export interface Fence {
  readonly path: string;
  /** The line of its fence, from 1. */
  readonly line: number;
  readonly language: string;
  /** What follows the language. */
  readonly about: string;
  readonly text: string;
  /** The file that it is, where its fence names one. */
  readonly file: string | undefined;
  /** What keeps it from being run or checked, by its fence. */
  readonly isLeftOut: boolean;
  /** Whether nothing stands between it and the code block before it. */
  readonly isRightAfter: boolean;
}

/** A Markdown file with its code blocks. */
export interface FencedFile {
  readonly path: string;
  readonly frontMatter: Readonly<Record<string, unknown>>;
  readonly fences: readonly Fence[];
}

/** Something wrong with a code block, and what to write. */
export interface Problem {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** For an assertion on all problems at once. */
export function problemText({ path, line, message }: Problem): string {
  return `${path}:${line}: ${message}`;
}

const markdown = new MarkdownIt({ html: true });

/** The code blocks of a file, also those in lists. */
export function fencesOf({ path, text }: MarkdownFile): FencedFile {
  const [matter = "", yaml = ""] = /^---\r?\n(.*?)^---\s*$/ms.exec(text) ?? [];
  const isMatter = text.startsWith(matter);
  // Blanked, so that lines keep their numbers.
  const body = isMatter ? matter.replace(/[^\n]/g, "") + text.slice(matter.length) : text;
  const fences = markdown
    .parse(body, {})
    .map((token, index, all) => ({ ...token, isRightAfter: isBlock(all[index - 1]) }))
    .filter(isBlock)
    .map(({ info, content, map, isRightAfter }): Fence => {
      const [language = ""] = info.trim().split(/\s+/, 1);
      const about = info.trim().slice(language.length).trim();
      const isLeftOut = /^no-(run|check):/.test(about);
      const isFile = !isLeftOut && !["sh", "text"].includes(language) && /^[^\s:]*[./][^\s:]*$/.test(about);
      const file = isFile ? about : undefined;
      return {
        path,
        line: (map?.[0] ?? 0) + 1,
        language,
        about,
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

/** The files that a page has shown up to one of its blocks, that one included: by name, the later over the earlier. */
export function filesUpTo({ fences }: FencedFile, last: Fence): Map<string, string> {
  const shown = fences.slice(0, fences.indexOf(last) + 1);
  return new Map(shown.flatMap(({ file, text }) => (file === undefined ? [] : [[file, text]])));
}
