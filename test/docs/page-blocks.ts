import type { HostedLanguage } from "../support/language-hosts";
import { type Fence, type FencedFile, fencesOf } from "./fences";

/** In what the blocks of a page run. */
export const PLACES = ["empty", "stack", "files", "fleet"] as const;

export type Place = (typeof PLACES)[number];

/** What a page prints after a `sh` block, a line each. */
export interface ExpectedLine {
  /** Its line in the page, from 1. */
  readonly line: number;
  readonly text: string;
}

/** A file that a page shows with its name. */
export interface FileBlock {
  readonly kind: "file";
  readonly line: number;
  readonly path: string;
  readonly text: string;
}

/** What a page has the reader type. */
export interface ShellBlock {
  readonly kind: "shell";
  readonly line: number;
  readonly text: string;
  /** Whether it is left running till the page's end. */
  readonly isBackground: boolean;
  /** How it must end: with 0, with this code, or with any other than 0. */
  readonly exit: number | "failure";
  /** What it must print, among other things, in this order. */
  readonly prints: readonly ExpectedLine[];
}

export type PageBlock = FileBlock | ShellBlock;

/** A page with what of it runs, in its order. */
export interface Page {
  readonly path: string;
  /** Undefined when nothing of it runs. */
  readonly place: Place | undefined;
  /** What the sandbox holds that is made for it. Default: `empty`. */
  readonly scenario: string;
  /** Those of its programs whose hosts Pulumi needs. */
  readonly languages: readonly HostedLanguage[];
  readonly blocks: readonly PageBlock[];
}

/** A page that can't be run, or that is not so when it is run. Its message begins with the page and the line. */
export class PageError extends Error {
  constructor(path: string, line: number, message: string) {
    super(`${path}:${line}: ${message}`);
    this.name = "PageError";
  }
}

/**
 * Reads what of a page runs.
 *
 * @throws {PageError} for a fence or front matter that says nothing the runner knows.
 */
export function readPage(path: string, text: string): Page {
  const { frontMatter, fences } = fencesOf({ path, text });
  const asked = askedBy(path, frontMatter);
  const blocks = fences.flatMap((fence, index): PageBlock[] => {
    const block = readBlock(fence);
    if (block?.kind !== "shell") return block === undefined ? [] : [block];
    const next = fences[index + 1];
    return [{ ...block, prints: next?.isRightAfter ? linesOf(next) : [] }];
  });
  const [first] = blocks.filter(({ kind }) => kind === "shell");
  if (asked.place === undefined && first !== undefined) {
    throw new PageError(
      path,
      first.line,
      `this block runs, and the page's front matter does not say in what: give it "run: ${PLACES.join("|")}"`,
    );
  }
  return { path, ...asked, blocks };
}

function askedBy(path: string, frontMatter: FencedFile["frontMatter"]): Omit<Page, "path" | "blocks"> {
  const {
    run,
    scenario = "empty",
    languages = [],
  } = frontMatter as Partial<Pick<Page, "scenario" | "languages">> & { run?: unknown };
  const place = PLACES.find((one) => one === run);
  if (run !== undefined && place === undefined) {
    throw new PageError(path, 1, `run: ${run}: give one of ${PLACES.join(", ")}`);
  }
  return { place, scenario, languages };
}

function readBlock({ path, line, language, about, text, file }: Fence): PageBlock | undefined {
  const [, left] = /^(no-(?:run|check))\b/.exec(about) ?? [];
  if (left !== undefined) {
    if (/^no-(run|check): \S/.test(about)) return undefined;
    throw new PageError(path, line, `"${about}" does not say why: write "${left}: WHY"`);
  }
  if (language === "sh") {
    if (/\blogin --local\b/.test(text)) {
      throw new PageError(
        path,
        line,
        "`pulumi login --local` writes into the home of whoever runs this: name a folder below $HOME",
      );
    }
    return { ...readShell(path, line, about), text };
  }
  return file === undefined ? undefined : { kind: "file", line, path: file, text };
}

function readShell(path: string, line: number, about: string): Omit<ShellBlock, "text"> {
  const block = { kind: "shell", line, isBackground: false, exit: 0, prints: [] } as const;
  if (about === "") return block;
  if (about === "background") return { ...block, isBackground: true };
  if (about === "fails") return { ...block, exit: "failure" };
  const [, code] = /^fails=([1-9]\d{0,2})$/.exec(about) ?? [];
  if (code !== undefined) return { ...block, exit: Number(code) };
  throw new PageError(
    path,
    line,
    `"sh ${about}" is not known: write sh, and after it nothing, background, fails, fails=2, or no-run: WHY`,
  );
}

/** The lines of a `text` block; a line of nothing but `…` stands for any. */
function linesOf({ language, about, line, text }: Fence): ExpectedLine[] {
  if (language !== "text" || about !== "") return [];
  return text
    .split("\n")
    .map((printed, index) => ({ line: line + 1 + index, text: printed.trim() }))
    .filter((printed) => printed.text !== "" && printed.text !== "…");
}

/** The first expected line that does not occur in the output after those before it; undefined when all do. */
export function firstMissing(expected: readonly ExpectedLine[], output: string): ExpectedLine | undefined {
  const lines = output.split("\n").map(inOneWay);
  let at = 0;
  for (const one of expected) {
    const pattern = patternOf(one.text);
    const found = lines.findIndex((line, index) => index >= at && pattern.test(line));
    if (found === -1) return one;
    at = found + 1;
  }
  return undefined;
}

function patternOf(text: string): RegExp {
  const parts = inOneWay(text)
    .split("…")
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

/** How wide columns are depends on what else stands in them. */
function inOneWay(line: string): string {
  return line.replace(/\s+/g, " ").trim();
}
