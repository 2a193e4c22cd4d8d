import type { HostedLanguage } from "../support/language-hosts";
import { type Fence, type FencedFile, parseFences } from "./fences";

/** The environments that the blocks of a page can run in. */
export const PLACES = ["empty", "stack", "files", "fleet"] as const;

export type PageEnvironment = (typeof PLACES)[number];

/** A line of output that a page shows after a `sh` block. */
export interface ExpectedLine {
  /** Its line number on the page, from 1. */
  readonly line: number;
  readonly text: string;
}

/** A named file that a page shows. */
export interface FileBlock {
  readonly kind: "file";
  readonly line: number;
  readonly path: string;
  readonly text: string;
}

/** Commands that a page tells the reader to type. */
export interface ShellBlock {
  readonly kind: "shell";
  readonly line: number;
  readonly text: string;
  /** Whether it keeps running until the end of the page. */
  readonly isBackground: boolean;
  /** The expected exit code: 0, a specific code, or any other than 0. */
  readonly exit: number | "failure";
  /** The lines that the output must contain, in this order, possibly among others. */
  readonly prints: readonly ExpectedLine[];
}

export type PageBlock = FileBlock | ShellBlock;

/** A page with its runnable blocks, in order. */
export interface RunnablePage {
  readonly path: string;
  /** Undefined if no block of the page runs. */
  readonly place: PageEnvironment | undefined;
  /** The scenario of the page's sandbox. Default: `empty`. */
  readonly scenario: string;
  /** The languages of its programs that need a Pulumi language host. */
  readonly languages: readonly HostedLanguage[];
  readonly blocks: readonly PageBlock[];
}

/**
 * The error for a page that can't be run, or whose run differs from what it says. The message begins with the page and
 * the line.
 */
export class PageError extends Error {
  constructor(path: string, line: number, message: string) {
    super(`${path}:${line}: ${message}`);
    this.name = "PageError";
  }
}

/**
 * Parses the runnable blocks of a page.
 *
 * @throws {PageError} for a fence or front matter that the runner doesn't understand.
 */
export function readPage(path: string, text: string): RunnablePage {
  const { frontMatter, fences } = parseFences({ path, text });
  const pageOptions = parsePageOptions(path, frontMatter);
  const blocks = fences.flatMap((fence, index): PageBlock[] => {
    const block = readBlock(fence);
    if (block?.kind !== "shell") return block === undefined ? [] : [block];
    const next = fences[index + 1];
    return [{ ...block, prints: next?.isRightAfter ? listExpectedLines(next) : [] }];
  });
  const [first] = blocks.filter(({ kind }) => kind === "shell");
  if (pageOptions.place === undefined && first !== undefined) {
    throw new PageError(
      path,
      first.line,
      `this block runs, and the page's front matter doesn't say where: give it "run: ${PLACES.join("|")}"`,
    );
  }
  return { path, ...pageOptions, blocks };
}

function parsePageOptions(path: string, frontMatter: FencedFile["frontMatter"]): Omit<RunnablePage, "path" | "blocks"> {
  const {
    run,
    scenario = "empty",
    languages = [],
  } = frontMatter as Partial<Pick<RunnablePage, "scenario" | "languages">> & { run?: unknown };
  const place = PLACES.find((candidate) => candidate === run);
  if (run !== undefined && place === undefined) {
    throw new PageError(path, 1, `run: ${run}: give one of ${PLACES.join(", ")}`);
  }
  return { place, scenario, languages };
}

function readBlock({ path, line, language, annotation, text, file }: Fence): PageBlock | undefined {
  const [, exemption] = /^(no-(?:run|check))\b/.exec(annotation) ?? [];
  if (exemption !== undefined) {
    if (/^no-(run|check): \S/.test(annotation)) return undefined;
    throw new PageError(path, line, `"${annotation}" does not say why: write "${exemption}: WHY"`);
  }
  if (language === "sh") {
    if (/\blogin --local\b/.test(text)) {
      throw new PageError(
        path,
        line,
        "`pulumi login --local` writes into the home of whoever runs this: name a directory below $HOME",
      );
    }
    return { ...readShell(path, line, annotation), text };
  }
  return file === undefined ? undefined : { kind: "file", line, path: file, text };
}

function readShell(path: string, line: number, annotation: string): Omit<ShellBlock, "text"> {
  const block = { kind: "shell", line, isBackground: false, exit: 0, prints: [] } as const;
  if (annotation === "") return block;
  if (annotation === "background") return { ...block, isBackground: true };
  if (annotation === "fails") return { ...block, exit: "failure" };
  const [, code] = /^fails=([1-9]\d{0,2})$/.exec(annotation) ?? [];
  if (code !== undefined) return { ...block, exit: Number(code) };
  throw new PageError(
    path,
    line,
    `"sh ${annotation}" is not known: write sh, and after it nothing, background, fails, fails=2, or no-run: WHY`,
  );
}

/** Returns the expected lines of a `text` block. A line that consists only of `…` stands for any number of lines. */
function listExpectedLines({ language, annotation, line, text }: Fence): ExpectedLine[] {
  if (language !== "text" || annotation !== "") return [];
  return text
    .split("\n")
    .map((printed, index) => ({ line: line + 1 + index, text: printed.trim() }))
    .filter((printed) => printed.text !== "" && printed.text !== "…");
}

/**
 * Returns the first expected line that isn't in the output after the lines that precede it. Undefined if there is none.
 */
export function findMissingLine(expected: readonly ExpectedLine[], output: string): ExpectedLine | undefined {
  const lines = output.split("\n").map(normalizeSpaces);
  let nextLine = 0;
  for (const expectedLine of expected) {
    const pattern = buildPattern(expectedLine.text);
    const matchIndex = lines.findIndex((line, index) => index >= nextLine && pattern.test(line));
    if (matchIndex === -1) return expectedLine;
    nextLine = matchIndex + 1;
  }
  return undefined;
}

function buildPattern(text: string): RegExp {
  const parts = normalizeSpaces(text)
    .split("…")
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

/** Collapses white space, because column widths depend on the content of the other rows. */
function normalizeSpaces(line: string): string {
  return line.replace(/\s+/g, " ").trim();
}
