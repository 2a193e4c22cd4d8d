interface TerminalOutput {
  write(text: string): unknown;
}

/**
 * Draws lines at the end of a terminal, each time over the previous ones. The lines must fit, because lines that wrap
 * or scroll away can't be overwritten. The cursor stays below them, and is hidden until the region or the process ends.
 */
export class LiveRegion {
  readonly #terminal: TerminalOutput;
  #lines: readonly string[] = [];
  #isDrawn = false;

  constructor(terminal: TerminalOutput) {
    this.#terminal = terminal;
    process.once("exit", this.#showCursor);
  }

  draw(text: string): void {
    const lines = text.split("\n");
    if (this.#isDrawn && lines.join("\n") === this.#lines.join("\n")) return;
    this.#write(`${this.#isDrawn ? "" : HIDE_CURSOR}${this.#moveToTop()}${formatLines(lines)}${ERASE_BELOW}`);
    this.#lines = lines;
    this.#isDrawn = true;
  }

  log(text: string): void {
    this.#write(`${this.#moveToTop()}${ERASE_BELOW}${text}\n${formatLines(this.#lines)}`);
  }

  /** Clears the whole screen. After a resize, wrapped lines have moved the region to an unknown position. */
  clear(): void {
    this.#lines = [];
    this.#isDrawn = false;
    this.#write(ERASE_SCREEN);
  }

  end(): void {
    process.off("exit", this.#showCursor);
    this.#write(`${this.#moveToTop()}${ERASE_BELOW}${SHOW_CURSOR}`);
    this.#lines = [];
  }

  readonly #showCursor = () => {
    this.#terminal.write(SHOW_CURSOR);
  };

  /** Moves the cursor from below the region to its first line. */
  #moveToTop(): string {
    return this.#lines.length === 0 ? "" : `\u001b[${this.#lines.length}A`;
  }

  /**
   * Starts in the first column, because the terminal echoes what somebody types. Terminals that support synchronized output show all of it
   * at once.
   */
  #write(text: string): void {
    this.#terminal.write(`\u001b[?2026h\r${text}\u001b[?2026l`);
  }
}

/** Erases only the rest of each line after writing it, to avoid flicker. */
function formatLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\u001b[K\n`).join("");
}

const ERASE_BELOW = "\u001b[J";
/** Moves the cursor to the first line, and clears everything from there. */
const ERASE_SCREEN = "\u001b[H\u001b[J";
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
