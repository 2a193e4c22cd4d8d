/** Where it is drawn. */
interface Terminal {
  write(text: string): unknown;
}

/**
 * Lines at the end of a terminal, each time over those that were there. They have to have room in it: what the terminal would
 * break, or let scroll away, could not be written over. The cursor is below them, and not seen until the end, also that of the process.
 */
export class Picture {
  readonly #terminal: Terminal;
  #lines: readonly string[] = [];
  #isDrawn = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    process.once("exit", this.#showCursor);
  }

  draw(text: string): void {
    const lines = text.split("\n");
    if (this.#isDrawn && lines.join("\n") === this.#lines.join("\n")) return;
    this.#write(`${this.#isDrawn ? "" : HIDE_CURSOR}${this.#up()}${shown(lines)}${ERASE_BELOW}`);
    this.#lines = lines;
    this.#isDrawn = true;
  }

  /** Writes lines above it that stay. */
  say(text: string): void {
    this.#write(`${this.#up()}${ERASE_BELOW}${text}\n${shown(this.#lines)}`);
  }

  /** Takes it away, and all else that is on the screen: a terminal that breaks its lines anew has moved it to where nobody can tell. */
  forget(): void {
    this.#lines = [];
    this.#isDrawn = false;
    this.#write(ERASE_SCREEN);
  }

  /** Takes it away, and gives the cursor back. */
  end(): void {
    process.off("exit", this.#showCursor);
    this.#write(`${this.#up()}${ERASE_BELOW}${SHOW_CURSOR}`);
    this.#lines = [];
  }

  readonly #showCursor = () => {
    this.#terminal.write(SHOW_CURSOR);
  };

  /** From below it to its first line. */
  #up(): string {
    return this.#lines.length === 0 ? "" : `\u001b[${this.#lines.length}A`;
  }

  /** From the first column on, for a terminal shows what somebody types; and all of it at once, where it knows how. */
  #write(text: string): void {
    this.#terminal.write(`\u001b[?2026h\r${text}\u001b[?2026l`);
  }
}

/** Each line erases only what was longer than itself: so nothing flickers. */
function shown(lines: readonly string[]): string {
  return lines.map((line) => `${line}\u001b[K\n`).join("");
}

const ERASE_BELOW = "\u001b[J";
/** The cursor goes to the first line, and nothing is left from there on. */
const ERASE_SCREEN = "\u001b[H\u001b[J";
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
