import { z } from "zod";
import { quote } from "../../model/text";
import { getGroupsAddress } from "../allowed-sources";
import { type SourceContent, type SourceContext, SourceError } from "../source-content";
import { getAccessToken } from "./access-token";
import { GroupPeople, parseProxyAddresses } from "./group-people";
import { type ErrorExplanation, isTransientStatus, JsonApi, type JsonResponse } from "./request-json";

const API = "Microsoft Graph";
const USER_PROPERTIES = "id,displayName,mail,userPrincipalName,accountEnabled,userType,proxyAddresses";
/** The largest page that Microsoft Graph returns for directory objects. */
const PAGE_SIZE = 999;
/** A cast to users is an advanced query, which requires this header and `$count=true`. */
const ADVANCED_QUERY = { consistencylevel: "eventual" };

/** A group in Microsoft Entra ID, by name or by id. */
export interface MicrosoftGraphGroup {
  readonly group?: string | undefined;
  readonly groupId?: string | undefined;
}

const groupsSchema = z.object({ value: z.array(z.object({ id: z.string(), displayName: z.string().nullish() })) });

const userSchema = z.object({
  id: z.string(),
  displayName: z.string().nullish(),
  mail: z.string().nullish(),
  userPrincipalName: z.string().nullish(),
  accountEnabled: z.boolean().nullish(),
  userType: z.string().nullish(),
  proxyAddresses: z.array(z.string()).nullish(),
});

const usersSchema = z.object({
  "@odata.count": z.number().optional(),
  "@odata.nextLink": z.string().optional(),
  value: z.array(userSchema),
});

/**
 * Reads the members of a group and of its nested groups. Each read is complete: delta queries report only direct members, so a change
 * in a nested group would be missed.
 *
 * @throws {SourceError} if the group can't be read completely.
 */
export async function readMicrosoftGraph(source: MicrosoftGraphGroup, context: SourceContext): Promise<SourceContent> {
  const groupsUrl = getGroupsAddress("microsoft-graph", context);
  const { origin } = new URL(groupsUrl);
  const token = await getAccessToken(context, {
    feature: "microsoftGraph",
    request: () => requestGraphToken(origin, context.signal),
    advice: "Configure a managed identity, a workload identity, or AZURE_TENANT_ID, AZURE_CLIENT_ID and a secret.",
  });
  await using api = await JsonApi.open({
    context,
    api: API,
    baseUrl: origin,
    token,
    headers: ADVANCED_QUERY,
    isTransient: ({ status }) => isTransientStatus(status),
    explain: explainGraphError,
  });
  const id = source.groupId ?? (await findGroup(api, groupsUrl, source.group ?? "", context));
  return await readTransitiveMembers(api, `${groupsUrl}/${encodeURIComponent(id)}`, context);
}

async function requestGraphToken(origin: string, signal: AbortSignal): Promise<string> {
  const { DefaultAzureCredential } = await import("@azure/identity");
  const { token } = await new DefaultAzureCredential().getToken(`${origin}/.default`, { abortSignal: signal });
  return token;
}

async function findGroup(api: JsonApi, groupsUrl: string, group: string, { name }: SourceContext): Promise<string> {
  const url = new URL(groupsUrl);
  url.searchParams.set("$filter", `displayName eq '${group.replaceAll("'", "''")}'`);
  url.searchParams.set("$select", "id,displayName");
  const { value: groups } = parseGraphPage(groupsSchema, await api.get(url.href), name);
  const [first] = groups;
  if (first !== undefined && groups.length === 1) return first.id;
  if (first === undefined) {
    throw new SourceError(
      `The source ${name} can't be read. ${API} has no group with the display name ${quote(group)}. Correct group, or set groupId to the group's object id.`,
    );
  }
  const ids = groups.map(({ id }) => quote(id)).join(", ");
  throw new SourceError(
    `The source ${name} can't be read. ${groups.length} groups have the display name ${quote(group)}. Set groupId to one of their ids: ${ids}.`,
  );
}

async function readTransitiveMembers(api: JsonApi, groupUrl: string, context: SourceContext): Promise<SourceContent> {
  const people = new GroupPeople(context);
  const url = new URL(`${groupUrl}/transitiveMembers/microsoft.graph.user`);
  url.searchParams.set("$select", USER_PROPERTIES);
  url.searchParams.set("$top", String(PAGE_SIZE));
  url.searchParams.set("$count", "true");
  const visited = new Set<string>();
  let expectedCount: number | undefined;
  let count = 0;
  for (let next: string | undefined = url.href; next !== undefined; ) {
    assertNextPage(next, url, visited, context.name);
    const page: z.infer<typeof usersSchema> = parseGraphPage(usersSchema, await api.get(next), context.name);
    expectedCount ??= page["@odata.count"];
    count += page.value.length;
    for (const user of page.value) addUser(people, user, context.name);
    // More people than allowed change nothing, however many there are.
    if (people.isOverLimit) return people.toContent();
    next = page["@odata.nextLink"];
  }
  if (expectedCount !== undefined && count < expectedCount) {
    throw new SourceError(
      `The source ${context.name} can't be read. ${API} returned ${count} of the group's ${expectedCount} members. Run the command again.`,
    );
  }
  return people.toContent();
}

/** The token must go to no other host, and a repeated link would never end. */
function assertNextPage(link: string, first: URL, visited: Set<string>, name: string): void {
  const url = URL.parse(link);
  if (url?.origin === first.origin && !visited.has(url.href)) {
    visited.add(url.href);
    return;
  }
  const problem = url?.origin === first.origin ? "repeats a page" : "is at another address";
  throw new SourceError(`The source ${name} can't be read. The link to the next page of ${API} ${problem}.`);
}

function addUser(people: GroupPeople, user: z.infer<typeof userSchema>, sourceName: string): void {
  // Without the permission to read users, their properties are null.
  if (typeof user.accountEnabled !== "boolean") {
    throw new SourceError(
      `The source ${sourceName} can't be read. ${API} returned members without their properties, because the app isn't allowed to read users. Grant it the application permission User.Read.All in addition to GroupMember.Read.All, with the consent of an administrator.`,
    );
  }
  const { primary, aliases } = parseProxyAddresses(user.proxyAddresses ?? []);
  people.add({
    mailbox: primary ?? user.mail ?? undefined,
    aliases,
    name: user.displayName ?? undefined,
    label: user.userPrincipalName ?? user.displayName ?? user.id,
    isDisabled: !user.accountEnabled,
    // Accounts from before 2014 have no type, but guests have this mark in their name.
    isOutside: user.userType === "Guest" || (user.userPrincipalName ?? "").includes("#EXT#"),
  });
}

function parseGraphPage<T>(schema: z.ZodType<T>, body: unknown, name: string): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new SourceError(
    `The source ${name} can't be read. The response of ${API} has an unexpected form at ${quote(issue?.path.join(".") ?? "")}.`,
  );
}

const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

function explainGraphError({ status, body }: JsonResponse): ErrorExplanation {
  const error = errorSchema.safeParse(body).data?.error;
  const reason = error === undefined ? "" : `${error.code}: ${error.message.replace(/\.$/, "")}`;
  return { reason, advice: ADVICE[status] ?? "" };
}

const ADVICE: Readonly<Record<number, string>> = {
  401: "The access token is missing, expired or for another service. Check the credentials.",
  403: "Grant the app the application permissions GroupMember.Read.All and User.Read.All, with the consent of an administrator. A group with hidden members also needs Member.Read.Hidden.",
  404: "Check groupId: it is the object id of the group.",
  429: "Run the command again later.",
};
