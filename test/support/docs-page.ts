import { readFileSync } from "node:fs";

/** A page of the docs, to compare with the code. */
export class DocsPage {
  readonly text: string;

  /** @param path relative to `docs/`. */
  constructor(path: string) {
    this.text = readFileSync(`docs/${path}`, "utf8");
  }

  /** Returns the table rows under a heading, up to the next heading of any level, one string per column. */
  getTableRows(heading: string): string[][] {
    const lines = this.text.split("\n");
    const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
    if (start < 0) throw new Error(`There is no heading "${heading}".`);
    const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line));
    const section = lines.slice(start + 1, length < 0 ? undefined : start + 1 + length);
    return section.flatMap((line, index) => {
      const isRow = line.startsWith("|") && !isRule(line) && !isRule(section[index + 1]);
      return isRow ? [splitCells(line)] : [];
    });
  }

  /** Returns all code spans in the first column of that table, row by row in one list. */
  getTableCodes(heading: string): string[] {
    return this.getTableRows(heading).flatMap(([cell = ""]) => extractCodes(cell));
  }

  /** All headings, verbatim. */
  get headings(): string[] {
    return [...this.text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  }
}

/** Returns the texts between backticks. */
export function extractCodes(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

function isRule(line = ""): boolean {
  return /^\|[\s:|-]+\|$/.test(line) && line.includes("---");
}

function splitCells(line: string): string[] {
  return line
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}
