import { dirname, resolve } from "node:path";
import type { Finding } from "../../files/finding";
import type { FilesLintResult } from "../../files/lint-files";
import { isSamePerson } from "../../files/policy";
import { realPath, repositoryOf } from "../../files/repository";
import type { DeclaredEntry, DeclaredVip } from "../../files/settings";
import type { Policy, PolicySubject } from "../../files/settings-schema";
import { GitError, GitReader } from "../../gitops/git";
import { quote } from "../../settings/text";
import { CommittedSettings } from "./committed-settings";
import { type Approval, readApprovals } from "./read-approvals";

/** What a change is held to. */
export interface ApprovalsOptions {
  /** The file with the host's answer. */
  readonly file: string;
  /** A revision of git, such as the branch that the change is to be merged into. */
  readonly base: string;
  /** The login of who proposes the change. */
  readonly author: string;
  /** The day (UTC) by which `expires` is judged. Default: today. */
  readonly today?: string;
}

/** What came of it. */
export interface CheckedApprovals {
  readonly findings: readonly Finding[];
  /** How many entries and VIPs the change adds or alters whose approval was looked at. */
  readonly checked: number;
  /** How many stand as they stood before the change, and are not asked again. */
  readonly unchanged: number;
  /** How many the change adds or alters of which nothing is asked: they name nobody, or the policy has no `approvers`. */
  readonly notAsked: number;
}

/**
 * Holds a change of settings files to who approved it: whom `approvedBy` of each entry or VIP that it adds or alters names must be one of
 * the policy's `approvers`, must not have made the change, and must have approved it as it is now. Which rules hold, and whose login is
 * whose, is what stood before the change: it can't name its own approvers.
 *
 * @param linted the files as they are now. One that another includes is looked at too: the other may take out what it declares, and who
 * applies it by itself gets that all the same.
 * @throws {ApprovalsError} (`ERR_APPROVALS`) when the answer can't be read.
 * @throws {GitError} (`ERR_GIT`) when what stood before can't be told.
 */
export async function checkApprovals(
  { tenants, included }: Pick<FilesLintResult, "tenants" | "included">,
  { file, base, author, today = new Date().toISOString().slice(0, 10) }: ApprovalsOptions,
): Promise<CheckedApprovals> {
  const approvals = readApprovals(file);
  const files = [...new Set([...tenants, ...included].flatMap((one) => one.files))];
  const [first = "."] = files;
  const top = repositoryOf(realPath(dirname(resolve(first))));
  if (top === undefined) {
    throw new GitError(
      `${quote(first, 300)} is in no git repository, so what a change adds or alters can't be told. Run it in the repository's clone.`,
    );
  }
  const git = new GitReader(top);
  const commit = await commitBefore(git, base);
  const before = await CommittedSettings.at(git, { top, commit, today }, files);
  const seen = new Map<string, Promise<CommittedSettings>>();
  const change: Change = {
    author: author.toLowerCase(),
    writers: await writersOf(git, commit),
    approvals: new Map(approvals.map((one) => [one.login, one])),
    held: async (id, tenant, one) => {
      const there = seen.get(id) ?? CommittedSettings.at(git, { top, commit: id, today }, files);
      seen.set(id, there);
      return (await there).holds(tenant, one);
    },
  };
  // What several tenants include is told once.
  const findings = new Map<string, Finding>();
  const spots = new Map<string, (typeof OUTCOMES)[number]>();
  const asPart = new Set(included.map((one) => one.files));
  for (const { files: own, policy, declared } of [...tenants, ...included]) {
    const [tenant = ""] = own;
    const rules = rulesOf(own, policy, before);
    // What others include since long is theirs: they are asked, but for what none of them shows.
    const isPart = asPart.has(own) && !before.isTop(tenant);
    for (const one of declared) {
      const spot = JSON.stringify([one.place.file, one.place.line, one.place.column]);
      if (isPart && spots.has(spot)) continue;
      const told = before.holds(tenant, one) ? "unchanged" : await judged(tenant, one, rules, change);
      const outcome = typeof told === "string" ? told : "checked";
      if (OUTCOMES.indexOf(outcome) >= OUTCOMES.indexOf(spots.get(spot) ?? outcome)) spots.set(spot, outcome);
      if (typeof told !== "string") findings.set(`${spot} ${told.message}`, told);
    }
  }
  const count = (outcome: string): number => [...spots.values()].filter((one) => one === outcome).length;
  return {
    findings: [...findings.values()],
    checked: count("checked"),
    unchanged: count("unchanged"),
    notAsked: count("notAsked"),
  };
}

/** What comes of one in a tenant; of several tenants that have it, the last of these counts. */
const OUTCOMES = ["unchanged", "notAsked", "checked"] as const;

/** What is known of a change. */
interface Change {
  readonly author: string;
  /** Who wrote its commits, by name and mailbox, as they say themselves. */
  readonly writers: readonly string[];
  readonly approvals: ReadonlyMap<string, Approval>;
  /** Whether a tenant's file of a commit holds something as it is now; throws a {@link GitError} where that commit is not here. */
  readonly held: (commit: string, tenant: string, one: DeclaredEntry | DeclaredVip) => Promise<boolean>;
}

/** The rules for one tenant. */
interface Rules {
  readonly demanded: ReadonlySet<PolicySubject>;
  /** Logins by name, as they were before the change; undefined where nobody had said who may approve. */
  readonly approvers: Policy["approvers"];
}

/** What a tenant is held to: the rules before the change, and what the change demands besides. */
function rulesOf(files: readonly string[], policy: Policy, before: CommittedSettings): Rules {
  const [top = ""] = files;
  // Of a new tenant, the files that it includes and those beside it tell; where there are none of either, all that there are.
  const near = before.has(top) ? [top] : [...files.filter((one) => before.has(one)), ...before.besides(top)];
  const known = near.length === 0 ? before.all() : near;
  const policies = known.map((one) => before.policyOf(one));
  return {
    demanded: new Set([policy, ...policies].flatMap(({ requireApproval = [] }) => requireApproval)),
    approvers: onlyCommon(policies.map((one) => one.approvers)),
  };
}

/** Who may approve for all that say who may. */
function onlyCommon(all: readonly Policy["approvers"][]): Policy["approvers"] {
  const [first, ...others] = all.filter((one) => one !== undefined);
  if (first === undefined) return undefined;
  const isCommon = ([name, login]: [string, string]): boolean =>
    others.every((other) => Object.hasOwn(other, name) && other[name] === login);
  return Object.fromEntries(Object.entries(first).filter(isCommon));
}

async function judged(
  tenant: string,
  one: DeclaredEntry | DeclaredVip,
  { demanded, approvers }: Rules,
  change: Change,
): Promise<Finding | (typeof OUTCOMES)[number]> {
  const { approvedBy } = one;
  const isDemanded = demanded.has(one.kind === "vip" ? "vips" : one.list);
  if (approvedBy === undefined) {
    if (!isDemanded) return "notAsked";
    const message = `${quote(one.written)} is added or altered, and names nobody who approved it; write \`approvedBy: …\`. The team's policy asks for it (requireApproval)`;
    return finding("approval-missing", one, message);
  }
  if (approvers === undefined && !isDemanded) return "notAsked";
  const why = await unproven(tenant, one, approvedBy, approvers, change);
  return why === undefined
    ? "checked"
    : finding(
        "approval-unproven",
        one,
        `${quote(one.written)} says that ${quote(approvedBy)} approved it, ${why}`,
      );
}

/** Why whom an entry names has not approved it; undefined when that is proven. */
async function unproven(
  tenant: string,
  one: DeclaredEntry | DeclaredVip,
  approvedBy: string,
  approvers: Rules["approvers"],
  { author, writers, approvals, held }: Change,
): Promise<string | undefined> {
  if (approvers === undefined) {
    return "and before this change the policy said of nobody that they may approve; have `approvers: { NAME: LOGIN }` merged under `policy` first, in a change of its own";
  }
  const named = Object.entries(approvers).filter(([name]) => isSamePerson(name, approvedBy));
  if (named.length === 0) {
    const some = Object.keys(approvers)
      .slice(0, SHOWN)
      .map((name) => quote(name));
    const known = some.length === 0 ? "nobody" : some.join(", ");
    return `who was none of the policy's \`approvers\` before this change (${known}); name one of them, or have it merged there first, in a change of its own`;
  }
  const logins = named.map(([, login]) => login.toLowerCase());
  if (logins.includes(author)) return "who proposes this change; let somebody else approve it";
  if (writers.some((writer) => named.some((one) => isWriter(writer, one)))) {
    return "who wrote a commit of this change; let somebody else approve it";
  }
  const approval = logins.map((login) => approvals.get(login)).find((given) => given !== undefined);
  const login = quote(named[0]?.[1]);
  if (approval === undefined)
    return `and the last word of ${login} on this change is no approval; let them approve it`;
  if (approval.commit === undefined) return undefined;
  const short = approval.commit.slice(0, 10);
  try {
    if (await held(approval.commit, tenant, one)) return undefined;
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return `and ${login} approved commit ${short}, which is not in this clone; let them approve the change as it is now, or fetch its whole history (\`fetch-depth: 0\`)`;
  }
  return `and ${login} approved commit ${short}, in which it stands otherwise or not at all; let them approve the change as it is now`;
}

/** So many approvers are named in a message. */
const SHOWN = 5;

function finding(code: string, one: DeclaredEntry | DeclaredVip, message: string): Finding {
  return { code, level: "error", message, place: one.place, subject: { kind: one.kind, key: one.key } };
}

/** The commit that a change began at: what the base and it have in common. */
async function commitBefore(git: GitReader, base: string): Promise<string> {
  const wanted = `--base ${quote(base)} is no commit that is here`;
  const how =
    "Fetch it (in a pipeline: `fetch-depth: 0`), or name the branch that the change is to be merged into, as origin/main.";
  if (!/^[^-]/.test(base)) throw new GitError(`${wanted}. ${how}`);
  let id: string;
  try {
    id = (await git.text("rev-parse", "--verify", `${base}^{commit}`)).trim();
  } catch (cause) {
    const why = cause instanceof GitError ? cause.message : String(cause);
    throw new GitError(`${wanted}. ${how} ${why}`, { cause });
  }
  // It says no by its exit code alone.
  const common = (await git.text("merge-base", id, "HEAD").catch(() => "")).trim();
  if (common !== "") return common;
  throw new GitError(
    `What --base ${quote(base)} and this change have in common is not here, as in a shallow clone. Fetch the whole history: \`git fetch --unshallow\`.`,
  );
}

/** Names and mailboxes of who wrote the commits of a change, as these say; of a merge, where it says more than what it brings together. */
async function writersOf(git: GitReader, before: string): Promise<readonly string[]> {
  const told = await git.text(
    "log",
    "--remerge-diff",
    "--no-renames",
    "--name-only",
    "-z",
    "--format=%x01%P%x02%an%x02%ae%x02",
    `${before}..HEAD`,
  );
  const names = told.split("\x01").flatMap((commit) => {
    const [parents = "", name = "", mailbox = "", files = ""] = commit.split("\x02");
    // git makes no other merge anew than one of two.
    const isOfTwo = parents.trim().split(" ").length === 2;
    return isOfTwo && files.replaceAll(/[\0\s]/g, "") === "" ? [] : [name.trim(), mailbox.trim()];
  });
  return [...new Set(names.filter((one) => one !== ""))];
}

/** Whether a writer of a commit is an approver: by name, by login, or by the mailbox that hosts give to a login. */
function isWriter(writer: string, [name, login]: readonly [string, string]): boolean {
  const own = writer.toLowerCase();
  const [, ofHost] = /^(?:\d+[+-])?([^@+]+)@users\.noreply\./.exec(own) ?? [];
  return isSamePerson(name, writer) || own === login.toLowerCase() || ofHost === login.toLowerCase();
}
