import { JsonApiStandIn, type StandInRequest, type StandInResponse } from "./json-api-stand-in";

export interface GoogleMember {
  readonly id: string;
  readonly email?: string;
  readonly type: "USER" | "GROUP" | "CUSTOMER" | "EXTERNAL";
  readonly status?: string;
  readonly role: "MEMBER";
}

/** The members of Google's Directory API, as its public reference describes them. */
export class GoogleStandIn extends JsonApiStandIn {
  readonly token: string;
  readonly groups = new Map<string, readonly GoogleMember[]>();
  isAllowed = true;

  constructor(token: string) {
    super();
    this.token = token;
  }

  protected respond({ headers, url }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Bearer ${this.token}`) {
      return buildGoogleFailure(401, "authError", "Invalid Credentials");
    }
    if (!this.isAllowed) return buildGoogleFailure(403, "forbidden", "Not Authorized to access this resource/api");
    const [, key = ""] = /^\/admin\/directory\/v1\/groups\/([^/]+)\/members$/.exec(url.pathname) ?? [];
    const group = decodeURIComponent(key);
    if (!this.groups.has(group)) return buildGoogleFailure(404, "notFound", "Resource Not Found: groupKey");
    const size = Number(url.searchParams.get("maxResults") ?? 200);
    if (size > 200) return buildGoogleFailure(400, "invalid", "Invalid Value");
    const isDerived = url.searchParams.get("includeDerivedMembership") === "true";
    const members = isDerived ? [...this.#collect(group)] : (this.groups.get(group) ?? []);
    const start = Number(url.searchParams.get("pageToken") ?? 0);
    return {
      status: 200,
      body: {
        kind: "admin#directory#members",
        // A group without members has no such property.
        ...(members.length > 0 && { members: members.slice(start, start + size) }),
        ...(start + size < members.length && { nextPageToken: String(start + size) }),
      },
    };
  }

  *#collect(group: string): Iterable<GoogleMember> {
    for (const member of this.groups.get(group) ?? []) {
      yield member;
      if (member.type === "GROUP") yield* this.#collect(member.email ?? "");
    }
  }
}

export function buildGoogleFailure(status: number, reason: string, message: string): StandInResponse {
  return { status, body: { error: { code: status, message, errors: [{ message, domain: "global", reason }] } } };
}

export function buildGoogleUser(email: string, status?: string): GoogleMember {
  return { id: `id-${email}`, email, type: "USER", role: "MEMBER", ...(status !== undefined && { status }) };
}
