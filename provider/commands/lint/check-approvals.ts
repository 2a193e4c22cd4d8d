import { dirname, resolve } from "node:path";
import { GitError, GitReader } from "../../gitops/git";
import { quote } from "../../model/text";
import type { Finding } from "../../settings-files/finding";
import type { FilesLintResult } from "../../settings-files/lint-files";
import { isSamePerson } from "../../settings-files/policy";
import { findRepository, resolveLinks } from "../../settings-files/repository";
import type { DeclaredEntry, DeclaredVip } from "../../settings-files/settings-model";
import type { Policy, PolicySubject } from "../../settings-files/settings-schema";
import { CommittedSettings } from "./committed-settings";
import { type Approval, readApprovals } from "./read-approvals";

export interface ApprovalsOptions {
  /** The file with the host's response. */
  readonly file: string;
  /** A git revision, such as the target branch of the change. */
  readonly base: string;
  /** The login of the author of the change. */
  readonly author: string;
  /** The date (UTC) for evaluating `expires`. Default: today. */
  readonly today?: string;
}

export interface ApprovalsResult {
  readonly findings: readonly Finding[];
  readonly checked: number;
  /** The number of unchanged entries and VIPs; they need no new approval. */
  readonly unchanged: number;
  /** The number of added or altered entries and VIPs that need no check: they name no approver, or the policy has no `approvers`. */
  readonly notRequired: number;
}

/**
 * Checks the approvals of a change to settings files. `approvedBy` of each added or altered entry or VIP must name one of the policy's
 * `approvers`. That person must not have made the change, and must have approved its present version. The rules and logins come from before
 * the change: a change can't name its own approvers.
 *
 * @param tenants the present files. Included files are checked as well: the including file may remove their declarations, but a run of the
 * included file alone applies them.
 * @throws {ApprovalsError} (`ERR_APPROVALS`) when the response can't be read.
 * @throws {GitError} (`ERR_GIT`) when the earlier state can't be read.
 */
export async function checkApprovals(
  { tenants, included }: Pick<FilesLintResult, "tenants" | "included">,
  { file, base, author, today = new Date().toISOString().slice(0, 10) }: ApprovalsOptions,
): Promise<ApprovalsResult> {
  const approvals = readApprovals(file);
  const files = [...new Set([...tenants, ...included].flatMap((item) => item.files))];
  const [first = "."] = files;
  const repository = findRepository(resolveLinks(dirname(resolve(first))));
  if (repository === undefined) {
    throw new GitError(
      `${quote(first, 300)} is not in a git repository, so added or changed declarations can't be found. Run it in a clone of the repository.`,
    );
  }
  const git = new GitReader(repository);
  const commit = await findMergeBase(git, base);
  const before = await CommittedSettings.read(git, { top: repository, commit, today }, files);
  const settingsByCommit = new Map<string, Promise<CommittedSettings>>();
  const change: ReviewedChange = {
    author: author.toLowerCase(),
    commitAuthors: await listCommitAuthors(git, commit),
    approvals: new Map(approvals.map((item) => [item.login, item])),
    hasDeclaration: async (id, tenant, declaration) => {
      const settings =
        settingsByCommit.get(id) ?? CommittedSettings.read(git, { top: repository, commit: id, today }, files);
      settingsByCommit.set(id, settings);
      return (await settings).hasDeclaration(tenant, declaration);
    },
  };
  // Several tenants may include the same file; report each finding once.
  const findings = new Map<string, Finding>();
  const outcomes = new Map<string, (typeof OUTCOMES)[number]>();
  const includedFileLists = new Set(included.map((item) => item.files));
  for (const { files: ownFiles, policy, declarations } of [...tenants, ...included]) {
    const [tenant = ""] = ownFiles;
    const rules = buildApprovalRules(ownFiles, policy, before);
    // A file that others have included for some time is checked with them, and here only for entries that none of them shows.
    const isIncludedPart = includedFileLists.has(ownFiles) && !before.isTopFile(tenant);
    for (const item of declarations) {
      const locationKey = JSON.stringify([item.location.file, item.location.line, item.location.column]);
      if (isIncludedPart && outcomes.has(locationKey)) continue;
      const result = before.hasDeclaration(tenant, item)
        ? "unchanged"
        : await checkApproval(tenant, item, rules, change);
      const outcome = typeof result === "string" ? result : "checked";
      if (OUTCOMES.indexOf(outcome) >= OUTCOMES.indexOf(outcomes.get(locationKey) ?? outcome))
        outcomes.set(locationKey, outcome);
      if (typeof result !== "string") findings.set(`${locationKey} ${result.message}`, result);
    }
  }
  const count = (outcome: string): number => [...outcomes.values()].filter((value) => value === outcome).length;
  return {
    findings: [...findings.values()],
    checked: count("checked"),
    unchanged: count("unchanged"),
    notRequired: count("notRequired"),
  };
}

/** The outcomes for an item in one tenant. For an item in several tenants, the outcome that is last in this list counts. */
const OUTCOMES = ["unchanged", "notRequired", "checked"] as const;

interface ReviewedChange {
  readonly author: string;
  /** Names and mailboxes of the commits' authors, as the commits claim. */
  readonly commitAuthors: readonly string[];
  readonly approvals: ReadonlyMap<string, Approval>;
  /**
   * Whether a tenant's file in a commit already contains the present declaration. Throws a {@link GitError} if the commit is missing here.
   */
  readonly hasDeclaration: (
    commit: string,
    tenant: string,
    declaration: DeclaredEntry | DeclaredVip,
  ) => Promise<boolean>;
}

interface ApprovalRules {
  readonly requiredSubjects: ReadonlySet<PolicySubject>;
  /** Logins by name before the change; undefined if no approvers were declared. */
  readonly approvers: Policy["approvers"];
}

/** Builds a tenant's rules: those from before the change, plus those that the change adds. */
function buildApprovalRules(files: readonly string[], policy: Policy, before: CommittedSettings): ApprovalRules {
  const [topFile = ""] = files;
  // For a new tenant, use the files that it includes and those in its directory; if there are none, use all files.
  const relatedFiles = before.has(topFile)
    ? [topFile]
    : [...files.filter((file) => before.has(file)), ...before.getSiblings(topFile)];
  const policyFiles = relatedFiles.length === 0 ? before.listFiles() : relatedFiles;
  const policies = policyFiles.map((file) => before.getPolicy(file));
  return {
    requiredSubjects: new Set([policy, ...policies].flatMap(({ requireApproval = [] }) => requireApproval)),
    approvers: intersectApprovers(policies.map((file) => file.approvers)),
  };
}

/** Returns the approvers that all policies with `approvers` agree on. */
function intersectApprovers(approverMaps: readonly Policy["approvers"][]): Policy["approvers"] {
  const [first, ...others] = approverMaps.filter((approvers) => approvers !== undefined);
  if (first === undefined) return undefined;
  const isCommon = ([name, login]: [string, string]): boolean =>
    others.every((other) => Object.hasOwn(other, name) && other[name] === login);
  return Object.fromEntries(Object.entries(first).filter(isCommon));
}

async function checkApproval(
  tenant: string,
  declaration: DeclaredEntry | DeclaredVip,
  { requiredSubjects, approvers }: ApprovalRules,
  change: ReviewedChange,
): Promise<Finding | (typeof OUTCOMES)[number]> {
  const { approvedBy } = declaration;
  const isRequired = requiredSubjects.has(declaration.kind === "vip" ? "vips" : declaration.list);
  if (approvedBy === undefined) {
    if (!isRequired) return "notRequired";
    const message = `${quote(declaration.rawValue)} is added or changed without an approver; write \`approvedBy: …\`. The team's policy requires it (requireApproval)`;
    return buildApprovalFinding("approval-missing", declaration, message);
  }
  if (approvers === undefined && !isRequired) return "notRequired";
  const problem = await explainUnproven(tenant, declaration, approvedBy, approvers, change);
  return problem === undefined
    ? "checked"
    : buildApprovalFinding(
        "approval-unproven",
        declaration,
        `${quote(declaration.rawValue)} declares that ${quote(approvedBy)} approved it, ${problem}`,
      );
}

/** Explains why the named approver's approval is unproven; undefined if it is proven. */
async function explainUnproven(
  tenant: string,
  declaration: DeclaredEntry | DeclaredVip,
  approvedBy: string,
  approvers: ApprovalRules["approvers"],
  { author, commitAuthors, approvals, hasDeclaration }: ReviewedChange,
): Promise<string | undefined> {
  if (approvers === undefined) {
    return "but before this change the policy had no approvers; first merge `approvers: { NAME: LOGIN }` under `policy`, in a separate change";
  }
  const namedApprovers = Object.entries(approvers).filter(([name]) => isSamePerson(name, approvedBy));
  if (namedApprovers.length === 0) {
    const examples = Object.keys(approvers)
      .slice(0, MAX_APPROVERS)
      .map((name) => quote(name));
    const knownText = examples.length === 0 ? "nobody" : examples.join(", ");
    return `but that person was not in the policy's \`approvers\` before this change (${knownText}); use one of them, or first add the approver there, in a separate change`;
  }
  const logins = namedApprovers.map(([, login]) => login.toLowerCase());
  if (logins.includes(author)) return "but that person proposes this change; let somebody else approve it";
  if (
    commitAuthors.some((commitAuthor) =>
      namedApprovers.some((declaration) => isCommitAuthor(commitAuthor, declaration)),
    )
  ) {
    return "but that person wrote a commit of this change; let somebody else approve it";
  }
  const approval = logins.map((login) => approvals.get(login)).find((match) => match !== undefined);
  const login = quote(namedApprovers[0]?.[1]);
  if (approval === undefined)
    return `but the last review of this change by ${login} isn't an approval; let them approve it`;
  if (approval.commit === undefined) return undefined;
  const shortCommit = approval.commit.slice(0, 10);
  try {
    if (await hasDeclaration(approval.commit, tenant, declaration)) return undefined;
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return `but ${login} approved commit ${shortCommit}, which is not in this clone; let them approve the current change, or fetch its whole history (\`fetch-depth: 0\`)`;
  }
  return `but ${login} approved commit ${shortCommit}, where it is different or missing; let them approve the current change`;
}

const MAX_APPROVERS = 5;

function buildApprovalFinding(code: string, declaration: DeclaredEntry | DeclaredVip, message: string): Finding {
  return {
    code,
    level: "error",
    message,
    place: declaration.location,
    subject: { kind: declaration.kind, key: declaration.key },
  };
}

async function findMergeBase(git: GitReader, base: string): Promise<string> {
  const problem = `--base ${quote(base)} isn't a commit of this repository`;
  const advice =
    "Fetch it (in a pipeline: `fetch-depth: 0`), or set the branch that the change will be merged into, such as origin/main.";
  if (!/^[^-]/.test(base)) throw new GitError(`${problem}. ${advice}`);
  let id: string;
  try {
    id = (await git.run("rev-parse", "--verify", `${base}^{commit}`)).trim();
  } catch (cause) {
    const reason = cause instanceof GitError ? cause.message : String(cause);
    throw new GitError(`${problem}. ${advice} ${reason}`, { cause });
  }
  // git reports a missing merge base by its exit code alone.
  const mergeBase = (await git.run("merge-base", id, "HEAD").catch(() => "")).trim();
  if (mergeBase !== "") return mergeBase;
  throw new GitError(
    `The common ancestor of --base ${quote(base)} and this change is missing, for example in a shallow clone. Fetch the whole history: \`git fetch --unshallow\`.`,
  );
}

/** Lists names and mailboxes of a change's commit authors, as the commits claim. A merge counts only if it adds changes of its own. */
async function listCommitAuthors(git: GitReader, before: string): Promise<readonly string[]> {
  const output = await git.run(
    "log",
    "--remerge-diff",
    "--no-renames",
    "--name-only",
    "-z",
    "--format=%x01%P%x02%an%x02%ae%x02",
    `${before}..HEAD`,
  );
  const names = output.split("\x01").flatMap((commit) => {
    const [parents = "", name = "", mailbox = "", files = ""] = commit.split("\x02");
    // git can only redo merges of two parents.
    const isTwoParentMerge = parents.trim().split(" ").length === 2;
    return isTwoParentMerge && files.replaceAll(/[\0\s]/g, "") === "" ? [] : [name.trim(), mailbox.trim()];
  });
  return [...new Set(names.filter((name) => name !== ""))];
}

/**
 * Returns whether a commit's author is an approver: by name, by login, or by the mailbox that hosts assign to a login.
 */
function isCommitAuthor(commitAuthor: string, [name, login]: readonly [string, string]): boolean {
  const author = commitAuthor.toLowerCase();
  const [, hostLogin] = /^(?:\d+[+-])?([^@+]+)@users\.noreply\./.exec(author) ?? [];
  return isSamePerson(name, commitAuthor) || author === login.toLowerCase() || hostLogin === login.toLowerCase();
}
