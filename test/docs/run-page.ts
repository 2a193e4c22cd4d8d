import { mkdir, readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { LocalRegistry } from "./local-registry";
import { findMissingLine, PageError, type RunnablePage, readPage, type ShellBlock } from "./page-blocks";
import { PageDirectory } from "./page-directory";
import { ShellSession } from "./shell-session";

/** The sandbox port that pages use, so that they can show its URL. The tests replace it with a free port. */
const PORT_OF_PAGES = /\b4010\b/g;

const BLOCK_ENDS_WITHIN_MS = 300_000;

/** Runs pages as a reader would: from the first line to the last, in a directory of their own. */
export class PageRunner implements AsyncDisposable {
  readonly #registry: LocalRegistry;

  private constructor(registry: LocalRegistry) {
    this.#registry = registry;
  }

  static async start(): Promise<PageRunner> {
    return new PageRunner(await LocalRegistry.start());
  }

  /**
   * Writes a page's files and runs its blocks, in order.
   *
   * @param path the page, relative to the repository's root.
   * @throws {PageError} for the first block that doesn't do what the page says, with its line and the complete output.
   */
  async run(path: string): Promise<void> {
    const port = String(await findFreePort());
    const text = await readFile(path, "utf8");
    const page = readPage(path, text.replace(PORT_OF_PAGES, port));
    if (page.place === undefined) return;
    await using place = await PageDirectory.make(page, page.place, this.#registry);
    await using session = await ShellSession.start(place.root, place.scratch, place.environment);
    for (const block of page.blocks) {
      if (block.kind === "shell") await runBlock(page, block, session);
      else {
        const file = join(place.root, block.path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, block.text);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#registry[Symbol.asyncDispose]();
  }
}

async function runBlock({ path }: RunnablePage, block: ShellBlock, session: ShellSession): Promise<void> {
  const { line, text, isBackground, exit, prints } = block;
  const ran = isBackground
    ? await session.start(text)
    : await session.run(text, { mayFail: exit !== 0, withinMs: BLOCK_ENDS_WITHIN_MS });
  if (process.env["SHOW_PAGES"] !== undefined) {
    console.log(`${path}:${line}: ended with ${ran.code}\n$ ${text}${ran.output}`);
  }
  const throwPageError = (reportedLine: number, reason: string): never => {
    throw new PageError(path, reportedLine, `${reason}\n${text}\nprinted:\n${ran.output}`);
  };
  if (ran.code === undefined) {
    throwPageError(line, isBackground ? "this block has printed no address" : "this block did not end in five minutes");
  }
  const isExpectedExit = exit === "failure" ? ran.code !== 0 : ran.code === exit;
  if (!isExpectedExit) throwPageError(line, `this block ended with ${ran.code}, not ${exit}`);
  const missing = findMissingLine(prints, ran.output);
  if (missing !== undefined) throwPageError(missing.line, `not printed, or not in this order: ${missing.text}`);
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
