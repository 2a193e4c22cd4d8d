import { execFile, spawn } from "node:child_process";
import { relative, resolve } from "node:path";
import { createErrorClass } from "../model/email-security-error";
import { quoteShellWord } from "../model/shell-word";
import { excerpt, sanitizeLine } from "../model/text";
import { findFileRepository, findRepository, resolveLinks } from "../settings-files/repository";
import { minimalEnv } from "../system/child-environment";

/** A git operation failed or isn't possible. The working tree is unchanged unless the message says otherwise. */
export class GitError extends createErrorClass("ERR_GIT") {}

export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  /** The first lines of its output, printable and without credentials of the remote. */
  readonly reason: string;
}

export interface Programs {
  /** @throws {GitError} if git isn't installed. */
  readonly git: (args: readonly string[], input?: string) => Promise<ProgramResult>;
  /** Runs `gh` or `glab`; undefined if it isn't installed. */
  readonly hostTool: (
    name: "gh" | "glab",
    args: readonly string[],
    input?: string,
  ) => Promise<ProgramResult | undefined>;
}

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const MAX_REASON_LINES = 6;

/**
 * Returns functions that run programs in a repository directory, without a shell. Their environment contains what git, signing and the
 * host's programs need, but no API keys: hooks are third-party code.
 *
 * @param variables additional variables.
 */
export function createGitPrograms(directory: string, variables: Readonly<Record<string, string>> = {}): Programs {
  const env = { ...minimalEnv(process.env, "pull request"), ...variables };
  const runProgram = async (name: string, args: readonly string[], input = ""): Promise<ProgramResult | undefined> =>
    await new Promise((resolveResult) => {
      const child = execFile(
        name,
        args,
        { cwd: directory, env, maxBuffer: MAX_OUTPUT_BYTES, encoding: "utf8" },
        (error, stdout, stderr) => {
          const { code } = (error ?? { code: 0 }) as { code?: number | string };
          if (code === "ENOENT") resolveResult(undefined);
          else
            resolveResult({
              code: typeof code === "number" ? code : 1,
              stdout,
              reason: summarizeFailure(stderr, stdout),
            });
        },
      );
      // A program that doesn't read all input reports the reason itself.
      child.stdin?.on("error", () => {});
      child.stdin?.end(input);
    });
  return {
    git: async (args, input) => {
      const result = await runProgram("git", args, input);
      if (result === undefined) throw new GitError("Git is not on PATH, so nothing can be committed.");
      return result;
    },
    hostTool: runProgram,
  };
}

/** Returns the git command to show a person; includes the repository if the working directory is in another one. */
export function formatGitCommand(repository: string): string {
  const currentRepository = findRepository(resolveLinks("."));
  return currentRepository !== undefined && resolveLinks(currentRepository) === resolveLinks(repository)
    ? "git"
    : `git -C ${quoteShellWord(relative(resolveLinks("."), resolveLinks(repository)))}`;
}

/** Returns whether git has the current content of a file, so that it can be restored after removal. */
export async function isCommitted(file: string): Promise<boolean> {
  const path = resolveLinks(resolve(file));
  const repository = findFileRepository(path);
  if (repository === undefined) return false;
  const { git } = createGitPrograms(repository);
  const trackedResult = await git(["--literal-pathspecs", "ls-files", "--error-unmatch", "--", path]);
  if (trackedResult.code !== 0) return false;
  const statusResult = await git(["--literal-pathspecs", "status", "--porcelain=v1", "--", path]);
  return statusResult.code === 0 && statusResult.stdout === "";
}

function summarizeFailure(stderr: string, stdout: string): string {
  const output = stderr.trim() === "" ? stdout : stderr;
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  const summaryLines = lines.slice(0, MAX_REASON_LINES).map((line) => sanitizeLine(redactUrlCredentials(line.trim())));
  return summaryLines.join("\n") || "it gave no reason";
}

export function redactUrlCredentials(text: string): string {
  return text.replace(/\b([a-z][a-z+.-]*:\/\/)[^\s/?#]*@/gi, "$1");
}

export interface GitObject {
  readonly id: string;
  readonly content: Buffer;
}

/**
 * Options that make git read-only regardless of the repository's configuration: no other programs, no signature checks, no fetches and no
 * replaced objects.
 */
const READ_ONLY_OPTIONS = [
  "--no-pager",
  "--no-replace-objects",
  "-c",
  "core.fsmonitor=false",
  "-c",
  "log.showSignature=false",
  "-c",
  "protocol.allow=never",
];

/** Queries a repository without changing it. */
export class GitReader {
  readonly #directory: string;
  readonly #environment: NodeJS.ProcessEnv;

  constructor(directory: string) {
    this.#directory = directory;
    const baseEnvironment = minimalEnv(process.env, "git");
    // Fetching objects that a partial clone lacks one by one would be slow.
    this.#environment = { ...baseEnvironment, GIT_NO_LAZY_FETCH: "1", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" };
  }

  /**
   * Returns the output of a command. Arguments must be constants or object ids.
   *
   * @throws {GitError} if git isn't installed or fails.
   */
  async run(...args: string[]): Promise<string> {
    return await this.runWithInput("", ...args);
  }

  async runWithInput(input: string, ...args: string[]): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#spawn(args, input)) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  }

  /** Yields the objects of the ids in order; skips missing ones. */
  async *readObjects(ids: readonly string[]): AsyncGenerator<GitObject> {
    if (ids.length === 0) return;
    let chunks: Buffer[] = [];
    let byteCount = 0;
    let objectHeader: { id: string; size: number } | undefined;
    for await (const chunk of this.#spawn(["cat-file", "--batch"], `${ids.join("\n")}\n`)) {
      chunks.push(chunk);
      byteCount += chunk.length;
      // Joins the chunks of an object only once.
      while (objectHeader === undefined || byteCount > objectHeader.size) {
        const buffered = Buffer.concat(chunks);
        if (objectHeader === undefined) {
          const headerEnd = buffered.indexOf("\n");
          const [id = "", , size] = buffered.toString("latin1", 0, Math.max(0, headerEnd)).split(" ");
          chunks = [headerEnd < 0 ? buffered : buffered.subarray(headerEnd + 1)];
          byteCount = chunks[0]?.length ?? 0;
          if (headerEnd < 0) break;
          // `<id> missing` has no size.
          if (size !== undefined) objectHeader = { id, size: Number(size) };
        } else {
          yield { id: objectHeader.id, content: buffered.subarray(0, objectHeader.size) };
          chunks = [buffered.subarray(objectHeader.size + 1)];
          byteCount = chunks[0]?.length ?? 0;
          objectHeader = undefined;
        }
      }
    }
  }

  async *#spawn(args: readonly string[], input = ""): AsyncGenerator<Buffer> {
    const child = spawn("git", ["-C", this.#directory, ...READ_ONLY_OPTIONS, ...args], {
      env: this.#environment,
    });
    let errorText = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errorText = (errorText + text).slice(0, 2_000);
    });
    // A consumer that stops early ignores the rest.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const exitCode = new Promise<number | null>((resolveExit, fail) => {
      child.once("error", fail);
      child.once("close", resolveExit);
    });
    exitCode.catch(() => {});
    try {
      yield* child.stdout as AsyncIterable<Buffer>;
      const code = await exitCode;
      if (code !== 0)
        throw new GitError(`Git can't be queried: ${excerpt(errorText.trim().split("\n")[0] ?? "", 300)}`);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT")
        throw new GitError("Git is not installed, or not on PATH.", { cause });
      throw cause;
    } finally {
      child.kill();
    }
  }
}
