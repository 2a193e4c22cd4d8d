import { execFile, spawn } from "node:child_process";
import { relative, resolve } from "node:path";
import { realPath, repositoryOf, repositoryOfFile } from "../files/repository";
import { leanEnvironment } from "../machine/child-environment";
import { EmailSecurityError } from "../settings/email-security-error";
import { shellWord } from "../settings/shell-word";
import { excerpt, printable } from "../settings/text";

/** What git can't do, or what keeps it from being asked; the working tree is as it was, unless the message says otherwise. */
export class GitError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_GIT", message, options);
  }
}

/** What a program that was run has told. */
export interface Told {
  readonly code: number;
  readonly stdout: string;
  /** The first lines of what it said, printable, and without what opens a remote. */
  readonly why: string;
}

/** Runs git, or a program that opens pull requests, in one folder. */
export interface Programs {
  /** @throws {GitError} when there is no git. */
  readonly git: (args: readonly string[], input?: string) => Promise<Told>;
  /** The same of `gh` and `glab`; undefined where there is none. */
  readonly other: (name: "gh" | "glab", args: readonly string[], input?: string) => Promise<Told | undefined>;
}

/** Nobody reads a longer one. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const SHOWN_LINES = 6;

/**
 * Runs programs in a folder of a repository, without a shell. They get what git, signing and the hosts' own programs need of the
 * environment, and no tenant's key: hooks are a team's own.
 */
export function programsIn(folder: string): Programs {
  const env = leanEnvironment(process.env, "pull request");
  const run = async (name: string, args: readonly string[], input = ""): Promise<Told | undefined> =>
    await new Promise((done) => {
      const child = execFile(
        name,
        args,
        { cwd: folder, env, maxBuffer: MAX_OUTPUT_BYTES, encoding: "utf8" },
        (error, stdout, stderr) => {
          const { code } = (error ?? { code: 0 }) as { code?: number | string };
          if (code === "ENOENT") done(undefined);
          else done({ code: typeof code === "number" ? code : 1, stdout, why: whyOf(stderr, stdout) });
        },
      );
      // One that doesn't read to the end says why itself.
      child.stdin?.on("error", () => {});
      child.stdin?.end(input);
    });
  return {
    git: async (args, input) => {
      const told = await run("git", args, input);
      if (told === undefined) throw new GitError("There is no git on PATH, so nothing can be committed.");
      return told;
    },
    other: run,
  };
}

/** How a person is told to call git for a repository: where another one is in the working directory, by name. */
export function gitIn(repository: string): string {
  const here = repositoryOf(realPath("."));
  return here !== undefined && realPath(here) === realPath(repository)
    ? "git"
    : `git -C ${shellWord(relative(realPath("."), realPath(repository)))}`;
}

/** Whether git has a file just as it is: taken away, it can be had back. */
export async function isCommitted(file: string): Promise<boolean> {
  const path = realPath(resolve(file));
  const repository = repositoryOfFile(path);
  if (repository === undefined) return false;
  const { git } = programsIn(repository);
  const known = await git(["--literal-pathspecs", "ls-files", "--error-unmatch", "--", path]);
  if (known.code !== 0) return false;
  const changed = await git(["--literal-pathspecs", "status", "--porcelain=v1", "--", path]);
  return changed.code === 0 && changed.stdout === "";
}

function whyOf(stderr: string, stdout: string): string {
  const said = stderr.trim() === "" ? stdout : stderr;
  const lines = said.split("\n").filter((line) => line.trim() !== "");
  const shown = lines.slice(0, SHOWN_LINES).map((line) => printable(withoutCredentials(line.trim())));
  return shown.join("\n") || "it gave no reason";
}

/** A text without what stands before the host of an address in it: that opens the remote. */
export function withoutCredentials(text: string): string {
  return text.replace(/\b([a-z][a-z+.-]*:\/\/)[^\s/?#]*@/gi, "$1");
}

/** An object of a repository: a file's text, or a commit as git holds it. */
export interface GitObject {
  readonly id: string;
  readonly content: Buffer;
}

/**
 * What makes git read and nothing else, whatever the repository's own settings say: it starts no other program, shows signatures to
 * none, fetches nothing, and takes no object for another.
 */
const READS_ONLY = [
  "--no-pager",
  "--no-replace-objects",
  "-c",
  "core.fsmonitor=false",
  "-c",
  "log.showSignature=false",
  "-c",
  "protocol.allow=never",
];

/** Asks git something over one repository, and changes nothing there. */
export class GitReader {
  readonly #folder: string;
  readonly #environment: NodeJS.ProcessEnv;

  /** @param folder the repository's top folder. */
  constructor(folder: string) {
    this.#folder = folder;
    const own = leanEnvironment(process.env, "git");
    // Objects that a partial clone lacks are not fetched one by one.
    this.#environment = { ...own, GIT_NO_LAZY_FETCH: "1", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" };
  }

  /**
   * What a command prints. Arguments are ours alone, or ids of objects.
   *
   * @throws {GitError} when git is not there, or says no.
   */
  async text(...args: string[]): Promise<string> {
    return await this.answer("", ...args);
  }

  /** The same of a command that reads lines. */
  async answer(input: string, ...args: string[]): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#run(args, input)) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  }

  /** The objects of some ids, in their order; those that are not there are left out. */
  async *objects(ids: readonly string[]): AsyncGenerator<GitObject> {
    if (ids.length === 0) return;
    let chunks: Buffer[] = [];
    let have = 0;
    let head: { id: string; size: number } | undefined;
    for await (const chunk of this.#run(["cat-file", "--batch"], `${ids.join("\n")}\n`)) {
      chunks.push(chunk);
      have += chunk.length;
      // An object of many pieces is put together once.
      while (head === undefined || have > head.size) {
        const all = Buffer.concat(chunks);
        if (head === undefined) {
          const end = all.indexOf("\n");
          const [id = "", , size] = all.toString("latin1", 0, Math.max(0, end)).split(" ");
          chunks = [end < 0 ? all : all.subarray(end + 1)];
          have = chunks[0]?.length ?? 0;
          if (end < 0) break;
          // `<id> missing` has no size.
          if (size !== undefined) head = { id, size: Number(size) };
        } else {
          yield { id: head.id, content: all.subarray(0, head.size) };
          chunks = [all.subarray(head.size + 1)];
          have = chunks[0]?.length ?? 0;
          head = undefined;
        }
      }
    }
  }

  async *#run(args: readonly string[], input = ""): AsyncGenerator<Buffer> {
    const child = spawn("git", ["-C", this.#folder, ...READS_ONLY, ...args], { env: this.#environment });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(0, 2_000);
    });
    // Who ends early wants no more of it.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const ended = new Promise<number | null>((done, fail) => {
      child.once("error", fail);
      child.once("close", done);
    });
    ended.catch(() => {});
    try {
      yield* child.stdout as AsyncIterable<Buffer>;
      const code = await ended;
      if (code !== 0)
        throw new GitError(`Git can't be asked: ${excerpt(said.trim().split("\n")[0] ?? "", 300)}`);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT")
        throw new GitError("Git is not installed, or not on PATH.", { cause });
      throw cause;
    } finally {
      child.kill();
    }
  }
}
