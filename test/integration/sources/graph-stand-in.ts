import { JsonApiStandIn, type StandInRequest, type StandInResponse } from "./json-api-stand-in";

export interface GraphUser {
  readonly id: string;
  readonly displayName: string;
  readonly userPrincipalName: string;
  readonly mail: string | null;
  readonly accountEnabled: boolean;
  readonly userType: "Member" | "Guest" | null;
  readonly proxyAddresses: readonly string[];
}

export interface GraphGroup {
  readonly id: string;
  readonly displayName: string;
  /** The ids of users and groups. */
  readonly members: readonly string[];
}

export type GraphPermission = "GroupMember.Read.All" | "User.ReadBasic.All" | "User.Read.All";

/** The properties of a user that `User.ReadBasic.All` reveals. */
const BASIC_PROPERTIES = ["id", "displayName", "mail", "userPrincipalName"];

/** Microsoft Graph's groups, as its public reference describes them. */
export class GraphStandIn extends JsonApiStandIn {
  readonly token: string;
  readonly users = new Map<string, GraphUser>();
  readonly groups = new Map<string, GraphGroup>();
  permissions: readonly GraphPermission[] = ["GroupMember.Read.All", "User.Read.All"];

  constructor(token: string) {
    super();
    this.token = token;
  }

  addUser(user: Partial<GraphUser> & { readonly mail: string | null }): string {
    const id = `user-${this.users.size + 1}`;
    const userPrincipalName = user.mail ?? `${id}@acme.example`;
    const defaults = { displayName: `Person ${id}`, accountEnabled: true, userType: "Member" as const };
    this.users.set(id, { id, userPrincipalName, proxyAddresses: [], ...defaults, ...user });
    return id;
  }

  addGroup(displayName: string, members: readonly string[]): string {
    const id = `group-${this.groups.size + 1}`;
    this.groups.set(id, { id, displayName, members });
    return id;
  }

  protected respond({ headers, url }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Bearer ${this.token}`) {
      return buildFailure(401, "InvalidAuthenticationToken", "Access token is empty.");
    }
    if (!this.permissions.includes("GroupMember.Read.All")) {
      return buildFailure(403, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.");
    }
    if (url.pathname === "/v1.0/groups") return this.#listGroups(url);
    const [, id = ""] =
      /^\/v1\.0\/groups\/([^/]+)\/transitiveMembers\/microsoft\.graph\.user$/.exec(url.pathname) ?? [];
    const group = this.groups.get(decodeURIComponent(id));
    if (group === undefined) {
      const message = `Resource '${id}' does not exist or one of its queried reference-property objects are not present.`;
      return buildFailure(404, "Request_ResourceNotFound", message);
    }
    if (headers["consistencylevel"] !== "eventual" || url.searchParams.get("$count") !== "true") {
      return buildFailure(400, "Request_UnsupportedQuery", "The specified cast requires the ConsistencyLevel header.");
    }
    return this.#listMembers(group, url);
  }

  #listGroups(url: URL): StandInResponse {
    const [, quoted = ""] = /^displayName eq '(.*)'$/.exec(url.searchParams.get("$filter") ?? "") ?? [];
    const name = quoted.replaceAll("''", "'");
    const value = [...this.groups.values()].filter(({ displayName }) => displayName === name);
    return { status: 200, body: { value: value.map(({ id, displayName }) => ({ id, displayName })) } };
  }

  #listMembers(group: GraphGroup, url: URL): StandInResponse {
    const size = Number(url.searchParams.get("$top") ?? 100);
    if (size > 999) return buildFailure(400, "Request_BadRequest", "Invalid page size specified.");
    const users = [...this.#collectUsers(group, new Set())].map((id) => this.users.get(id));
    const start = Number(url.searchParams.get("$skiptoken") ?? 0);
    const properties = url.searchParams.get("$select")?.split(",") ?? BASIC_PROPERTIES;
    const value = users.slice(start, start + size).map((user) => this.#reveal(user as GraphUser, properties));
    const next = new URL(url);
    next.searchParams.set("$skiptoken", String(start + size));
    const link = start + size < users.length ? { "@odata.nextLink": next.href } : {};
    return { status: 200, body: { "@odata.count": users.length, ...link, value } };
  }

  *#collectUsers(group: GraphGroup, visited: Set<string>): Iterable<string> {
    for (const id of group.members) {
      if (visited.has(id)) continue;
      visited.add(id);
      const nested = this.groups.get(id);
      if (nested === undefined) yield id;
      else yield* this.#collectUsers(nested, visited);
    }
  }

  /** Properties that the app may not read are null. */
  #reveal(user: GraphUser, properties: readonly string[]): Record<string, unknown> {
    const readable = this.permissions.includes("User.Read.All")
      ? properties
      : this.permissions.includes("User.ReadBasic.All")
        ? BASIC_PROPERTIES
        : ["id"];
    return Object.fromEntries(
      properties.map((name) => [name, readable.includes(name) ? user[name as keyof GraphUser] : null]),
    );
  }
}

function buildFailure(status: number, code: string, message: string): StandInResponse {
  return { status, body: { error: { code, message, innerError: { date: "2026-11-29T00:00:00" } } } };
}
