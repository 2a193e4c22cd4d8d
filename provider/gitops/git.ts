import { execFile } from "node:child_process";
import { leanEnvironment } from "../machine/child-environment";
import { EmailSecurityError } from "../settings/email-security-error";
import { printable } from "../settings/text";

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
