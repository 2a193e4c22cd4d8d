import { z } from "zod";
import { createErrorClass, getErrorMessage } from "../../model/email-security-error";
import { excerpt, quote } from "../../model/text";
import { readRegularFile } from "../../system/regular-file";

/** A person whose latest decision on a change is an approval. */
export interface Approval {
  /** In lower case: hosts ignore case in logins. */
  readonly login: string;
  /** The approved commit, if the host reports it. */
  readonly commit?: string;
}

/** Thrown when the approvals of a change can't be read. `ERR_APPROVALS` */
export class ApprovalsError extends createErrorClass("ERR_APPROVALS") {}

/** Enough for thousands of reviews with their comments. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Reads the present approvals of a change from a file with the host's response: GitHub's `GET /repos/{owner}/{repo}/pulls/{number}/reviews`
 * (separate or combined pages), or GitLab's `GET /projects/{id}/merge_requests/{iid}/approvals`. On GitHub, each person's latest decision
 * counts. A comment isn't a decision, and a dismissed review cancels those before it.
 *
 * @throws {ApprovalsError} (`ERR_APPROVALS`) when the file can't be read or isn't a valid response.
 */
export function readApprovals(file: string): readonly Approval[] {
  const response = readJsonFile(file);
  const pages = z.array(z.array(z.unknown())).safeParse(response);
  if (Array.isArray(response))
    return listGitHubApprovals(parseApiResponse(file, gitHubReviewsSchema, pages.data?.flat() ?? response));
  const { approved_by: approvals } = parseApiResponse(file, gitLabApprovalsSchema, response);
  return approvals.map(({ user }) => ({ login: user.username.toLowerCase() }));
}

const nameSchema = z.string().min(1).max(255);

const timeSchema = z.string().refine((text) => !Number.isNaN(Date.parse(text)), "must be a time");

const gitHubReviewsSchema = z.array(
  z.discriminatedUnion("state", [
    z.object({ state: z.enum(["COMMENTED", "PENDING"]) }),
    z.object({
      state: z.enum(["APPROVED", "CHANGES_REQUESTED", "DISMISSED"]),
      // GitHub sends null for deleted accounts and missing commits.
      user: z.object({ login: nameSchema }).nullable(),
      commit_id: z
        .string()
        .regex(/^[\da-f]{40,64}$/i)
        .nullish(),
      submitted_at: timeSchema,
    }),
  ]),
);

const gitLabApprovalsSchema = z.object({
  approved_by: z.array(z.object({ user: z.object({ username: nameSchema }) })),
});

function listGitHubApprovals(reviews: z.infer<typeof gitHubReviewsSchema>): readonly Approval[] {
  const latest = new Map<string, { readonly at: number; readonly approval: Approval | undefined }>();
  for (const review of reviews) {
    if (!("user" in review) || review.user === null) continue;
    const login = review.user.login.toLowerCase();
    const at = Date.parse(review.submitted_at);
    if (at < (latest.get(login)?.at ?? Number.NEGATIVE_INFINITY)) continue;
    // An approval counts only for the commit that was approved.
    const commit = review.commit_id ?? NO_COMMIT;
    latest.set(login, { at, approval: review.state === "APPROVED" ? { login, commit } : undefined });
  }
  return [...latest.values()].flatMap(({ approval }) => approval ?? []);
}

/** An id that no repository contains. */
const NO_COMMIT = "0".repeat(40);

function readJsonFile(file: string): unknown {
  let text: string;
  try {
    text = readRegularFile(file, MAX_BYTES).toString("utf8");
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "the file doesn't exist" : formatCause(cause);
    throw new ApprovalsError(`${quote(file, 300)} can't be read: ${reason}. ${WRITE_ADVICE}`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the file's content, which may be secret.
    throw new ApprovalsError(`${quote(file, 300)} (${text.length} characters) isn't valid JSON. ${WRITE_ADVICE}`);
  }
}

function parseApiResponse<Schema extends z.ZodType>(file: string, schema: Schema, response: unknown): z.infer<Schema> {
  const result = schema.safeParse(response);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join(".") ?? "";
  const pathText = path === "" ? "" : ` at ${quote(path, 200)}`;
  throw new ApprovalsError(
    `${quote(file, 300)} is neither GitHub's response with a pull request's reviews nor GitLab's with a merge request's approvals${pathText}; it contains ${describeResponse(response)}. ${WRITE_ADVICE}`,
  );
}

/** Describes an unexpected response without showing content that may be secret. */
function describeResponse(response: unknown): string {
  if (Array.isArray(response)) return `a list of ${response.length}`;
  if (typeof response !== "object" || response === null) return response === null ? "null" : `a ${typeof response}`;
  // The format of the hosts' error responses.
  if ("message" in response && typeof response.message === "string") return `an error, ${quote(response.message, 200)}`;
  const keys = Object.keys(response);
  const quotedKeys = keys.slice(0, MAX_SHOWN_KEYS).map((key) => quote(key, 40));
  return `an object with ${keys.length === 0 ? "nothing" : quotedKeys.join(", ")}${keys.length > MAX_SHOWN_KEYS ? " and more" : ""}`;
}

const MAX_SHOWN_KEYS = 5;

const WRITE_ADVICE =
  "The pipeline writes it: `gh api --paginate --slurp repos/OWNER/REPO/pulls/NUMBER/reviews > FILE`, or `glab api projects/ID/merge_requests/IID/approvals > FILE`";

function formatCause(cause: unknown): string {
  return excerpt(getErrorMessage(cause), 300);
}
