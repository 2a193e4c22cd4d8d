import { z } from "zod";
import { omitUndefined } from "../../model/omit-undefined";
import { quote } from "../../model/text";
import { getGroupsAddress } from "../allowed-sources";
import { type SourceContent, type SourceContext, SourceError } from "../source-content";
import { formatSourceVariable } from "../source-variables";
import { getAccessToken } from "./access-token";
import { GroupPeople } from "./group-people";
import { type ErrorExplanation, isTransientStatus, JsonApi, type JsonResponse } from "./request-json";

const API = "Google's Directory API";
const SCOPE = "https://www.googleapis.com/auth/admin.directory.group.member.readonly";
/** The largest page that the API returns. */
const PAGE_SIZE = 200;
const FIELDS = "nextPageToken,members(id,email,type,status)";

/** A group of Google Workspace, by its address. */
export interface GoogleDirectoryGroup {
  readonly group: string;
}

const memberSchema = z.object({
  id: z.string().optional(),
  email: z.string().optional(),
  type: z.string().optional(),
  status: z.string().optional(),
});

const membersSchema = z.object({
  members: z.array(memberSchema).optional(),
  nextPageToken: z.string().optional(),
});

/**
 * Reads the members of a group and of its nested groups.
 *
 * @throws {SourceError} if the group can't be read completely.
 */
export async function readGoogleDirectory(
  { group }: GoogleDirectoryGroup,
  context: SourceContext,
): Promise<SourceContent> {
  const groupsUrl = getGroupsAddress("google-directory", context);
  const token = await getAccessToken(context, {
    feature: "googleDirectory",
    request: () => requestGoogleToken(context),
    advice: "Configure Application Default Credentials, such as GOOGLE_APPLICATION_CREDENTIALS.",
  });
  await using api = await JsonApi.open({
    context,
    api: API,
    baseUrl: groupsUrl,
    token,
    isTransient,
    explain: explainGoogleError,
  });
  return await readGroupTree(api, `${groupsUrl}/${encodeURIComponent(group)}/members`, context);
}

/** Only a service account with domain-wide delegation acts for a user. One with an administrator's role acts for itself. */
async function requestGoogleToken({ environment, name }: SourceContext): Promise<string | null | undefined> {
  const { GoogleAuth } = await import("google-auth-library");
  const subject = environment[formatSourceVariable(name, "USER")];
  const auth = new GoogleAuth({ scopes: [SCOPE], ...(subject && { clientOptions: { subject } }) });
  return await auth.getAccessToken();
}

async function readGroupTree(api: JsonApi, membersUrl: string, context: SourceContext): Promise<SourceContent> {
  const people = new GroupPeople(context);
  const visited = new Set<string>();
  const parameters = { includeDerivedMembership: "true", maxResults: String(PAGE_SIZE), fields: FIELDS };
  for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
    if (visited.has(pageToken)) {
      throw new SourceError(`The source ${context.name} can't be read. ${API} repeats a page.`);
    }
    visited.add(pageToken);
    const query = new URLSearchParams(omitUndefined({ ...parameters, pageToken: pageToken || undefined }));
    const page: z.infer<typeof membersSchema> = parseMembersPage(await api.get(`${membersUrl}?${query}`), context.name);
    for (const member of page.members ?? []) addMember(people, member);
    // More people than allowed change nothing, however many there are.
    if (people.isOverLimit) break;
    pageToken = page.nextPageToken;
  }
  return people.toContent();
}

function addMember(people: GroupPeople, { id = "", email = "", type, status }: z.infer<typeof memberSchema>): void {
  // The members of a nested group are listed too.
  if (type === "GROUP") return;
  if (type === "CUSTOMER") {
    people.skip("not a person", `everyone in the organization (${id})`);
    return;
  }
  people.add({
    mailbox: email,
    label: email || id,
    isDisabled: status !== undefined && status !== "ACTIVE",
    isOutside: type === "EXTERNAL",
  });
}

function parseMembersPage(body: unknown, name: string): z.infer<typeof membersSchema> {
  const parsed = membersSchema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new SourceError(
    `The source ${name} can't be read. The response of ${API} has an unexpected form at ${quote(issue?.path.join(".") ?? "")}.`,
  );
}

const errorSchema = z.object({
  error: z.object({
    message: z.string(),
    errors: z.array(z.object({ reason: z.string() })).optional(),
  }),
});

/** A quota is reported as 403, with a reason that tells it from a missing permission. */
const QUOTA_REASONS = ["quotaExceeded", "rateLimitExceeded", "userRateLimitExceeded"];

function isTransient(response: JsonResponse): boolean {
  return isTransientStatus(response.status) || QUOTA_REASONS.includes(parseReason(response));
}

function parseReason({ body }: JsonResponse): string {
  return errorSchema.safeParse(body).data?.error.errors?.[0]?.reason ?? "";
}

function explainGoogleError(response: JsonResponse): ErrorExplanation {
  const message = errorSchema.safeParse(response.body).data?.error.message.replace(/\.$/, "") ?? "";
  const reason = [parseReason(response), message].filter((text) => text !== "").join(": ");
  return { reason, advice: isTransient(response) ? "Run the command again later." : (ADVICE[response.status] ?? "") };
}

const ADVICE: Readonly<Record<number, string>> = {
  401: "The access token is missing, expired or for another service. Check the credentials.",
  403: `Give the service account the administrator role Groups Reader, or delegate the scope ${SCOPE} to it and specify a user to impersonate.`,
  404: "Check group: it is the address of the group.",
};
