import { z } from "zod";
import { MAX_VIP_REMOVALS, SETTINGS_PAGE_SIZE } from "../model/assumptions";
import { excerpt } from "../model/text";
import { buildResultsSchema, buildSettingsPageSchema } from "./envelope";
import { InvalidArgumentError, NotInOrganizationError, ServiceError } from "./errors";
import type { PagedList, Stopwatch } from "./paged-list";
import { iterateList, type ReadAllOptions, readWholeList } from "./paging";
import {
  assertKnownKeys,
  assertNotBlank,
  assertOneOf,
  assertOptionalText,
  assertText,
  requireOptionalPositive,
} from "./parameters";
import { buildArraySchema } from "./schema-fields";
import {
  type AddVipResult,
  addVipResult,
  type Page,
  type RemoveVipResult,
  removeVipResult,
  type VipEmployeeRow,
  type VipStoredRow,
  vipEmployee,
  vipStoredRow,
} from "./schemas";
import type { Transport } from "./transport";

const PATH = "/settings/vip_employees";
const FILTER_PARAMETERS = ["q", "sort"];

/** The filters and page of a listing (reference, section "VIP employees"). */
export interface ListVipsQuery {
  /** The page, 1-based. Default: 1. */
  readonly page?: number;
  /** VIPs per page, 1 to 200. Default of the service: 50. */
  readonly page_size?: number;
  /** Free text across email, full name, job title, department, comment and the adder's name. */
  readonly q?: string;
  /** By date added. Default of the service: `"desc"`. */
  readonly sort?: "asc" | "desc";
}

/** The VIP employees of the tenant (reference, section "VIP employees"). */
export class VipEmployees {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns one page of VIPs, automatic and manual; rows without a mailbox come last: `GET /api/v1/settings/vip_employees`.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async list(query: ListVipsQuery = {}): Promise<Page<VipEmployeeRow>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(query: ListVipsQuery, stopwatch?: Stopwatch): Promise<Page<VipEmployeeRow>> {
    assertKnownKeys("query", query, [...FILTER_PARAMETERS, "page", "page_size"]);
    assertOptionalText("q", query.q);
    if (query.sort !== undefined) assertOneOf("sort", ["asc", "desc"], query.sort);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: {
        page: requireOptionalPositive("page", query.page) ?? 1,
        page_size: requireOptionalPositive("page_size", query.page_size, SETTINGS_PAGE_SIZE),
        q: query.q,
        sort: query.sort,
      },
      envelope: "settings-page",
      schema: buildSettingsPageSchema(vipEmployee),
      stopwatch,
    });
  }

  /**
   * Returns all VIPs as a consistent snapshot, in ⌈N/200⌉ requests of `GET /api/v1/settings/vip_employees`.
   *
   * @throws {ListUnstableError} if the list keeps changing while it is read.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async readAll(options?: ReadAllOptions<VipEmployeeRow>): Promise<VipEmployeeRow[]> {
    return await readWholeList(this.#buildPagedList({}), options);
  }

  /**
   * Iterates over the VIPs. Fetches pages of 200 on demand (`GET /api/v1/settings/vip_employees`; no request after a `break`).
   * A list of several pages is read again until a full read yields nothing new.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} if the list keeps changing; the items so far aren't the whole list.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async *iterate(
    query: Omit<ListVipsQuery, "page" | "page_size"> = {},
  ): AsyncGenerator<VipEmployeeRow, void, undefined> {
    assertKnownKeys("query", query, FILTER_PARAMETERS);
    yield* iterateList(this.#buildPagedList(query));
  }

  #buildPagedList(query: Omit<ListVipsQuery, "page" | "page_size">): PagedList<VipEmployeeRow> {
    return {
      name: "VIP list",
      fetchPage: (page, stopwatch) => this.#fetchPage({ ...query, page, page_size: SETTINGS_PAGE_SIZE }, stopwatch),
      getIdentity: getVipRowIdentity,
    };
  }

  /**
   * Marks mailboxes as VIP, all or none: `POST /api/v1/settings/vip_employees`. Accepts addresses that are already listed.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {NotInOrganizationError} if any address does not belong to the organization, whatever status the response has;
   * nothing was written.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async add(emails: readonly string[], comment?: string): Promise<AddVipResult> {
    assertEmails(emails);
    assertOptionalText("comment", comment);
    const body = comment === undefined ? { emails } : { emails, comment };
    let result: AddVipResult;
    try {
      result = await this.#transport.send({
        method: "POST",
        path: PATH,
        body,
        isBatch: true,
        envelope: "object",
        schema: addResponseSchema,
      });
    } catch (error) {
      throw parseNotInOrganizationError(error) ?? error;
    }
    if (result.not_in_org.length > 0) {
      const addresses = result.not_in_org.map((address) => this.#transport.redactKey(address));
      throw buildNotInOrganizationError(addresses, { request: { method: "POST", path: `/api/v1${PATH}` } });
    }
    return result;
  }

  /**
   * Replaces the comment of a manually added VIP: `PATCH /api/v1/settings/vip_employees`. Returns the stored row, without name,
   * job title and department.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {NotFoundError} for an automatically detected VIP, which has no stored row, and for a mailbox that isn't a VIP.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async editComment(email: string, comment: string): Promise<VipStoredRow> {
    assertNotBlank("email", email);
    assertText("comment", comment);
    return await this.#transport.send({
      method: "PATCH",
      path: PATH,
      body: { email, comment },
      envelope: "object",
      schema: buildResultsSchema(vipStoredRow),
    });
  }

  /**
   * Writes an exclusion for each of 1 to 1000 mailboxes: `POST /api/v1/settings/vip_employees/remove`. The exclusion is
   * permanent: automatic detection doesn't make the mailbox a VIP again. Idempotent: `affected` counts the exclusions written
   * now. Addresses aren't checked against the directory, so mistyped ones are excluded too.
   *
   * @throws {InvalidArgumentError} if a parameter can't be sent; no request was made.
   * @throws {ServiceError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  async remove(emails: readonly string[]): Promise<RemoveVipResult> {
    assertEmails(emails, MAX_VIP_REMOVALS);
    return await this.#transport.send({
      method: "POST",
      path: `${PATH}/remove`,
      body: { emails },
      isBatch: true,
      envelope: "object",
      schema: buildResultsSchema(removeVipResult),
    });
  }
}

/**
 * Returns the identity of a row; undefined for one without a mailbox. A mailbox may occur several times: detected and
 * added, or in two spellings. The identity includes the spelling, so that such rows don't look like a changing list.
 */
export function getVipRowIdentity({ email, source, added_by, date_added }: VipEmployeeRow): string | undefined {
  if (email === undefined) return undefined;
  const details = [source, added_by, date_added].filter((text) => text !== undefined);
  return details.length === 0 ? email : `${email} (${details.join(", ")})`;
}

/** Addresses outside the organization, at the top level or under `results`, whatever other fields there are. */
const externalMailboxesSchema = z
  .object({ not_in_org: buildArraySchema(z.string()).refine((addresses) => addresses.length > 0) })
  .transform(({ not_in_org }): AddVipResult => ({ added: [], already_vip: [], not_in_org }));
const externalMailboxErrorSchema = buildResultsSchema(externalMailboxesSchema).or(externalMailboxesSchema);
const addResponseSchema = externalMailboxErrorSchema.or(buildResultsSchema(addVipResult));

function parseNotInOrganizationError(error: unknown): NotInOrganizationError | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const parsed = externalMailboxErrorSchema.safeParse(error.body);
  if (!parsed.success) return undefined;
  return buildNotInOrganizationError(parsed.data.not_in_org, {
    request: error.request,
    serviceMessage: error.serviceMessage,
    cause: error,
    ...(error.status === undefined ? {} : { status: error.status }),
  });
}

/** Builds the error for addresses outside the organization. */
export function buildNotInOrganizationError(
  addresses: readonly string[],
  options: ConstructorParameters<typeof NotInOrganizationError>[2],
): NotInOrganizationError {
  const addressText = addresses
    .slice(0, 10)
    .map((address) => excerpt(address))
    .join(", ");
  const moreText = addresses.length > 10 ? ` and ${addresses.length - 10} more` : "";
  const predicate = addresses.length === 1 ? "isn't a mailbox" : "aren't mailboxes";
  return new NotInOrganizationError(
    addresses,
    `According to the service, ${addressText}${moreText} ${predicate} of the organization; nothing was written. Check the spelling, that the mailbox exists in the directory, and that the API key belongs to the right tenant.`,
    options,
  );
}

function assertEmails(emails: readonly string[], max = Number.MAX_SAFE_INTEGER): void {
  if (!Array.isArray(emails)) throw new InvalidArgumentError("emails must be an array of addresses");
  if (emails.length === 0) throw new InvalidArgumentError("emails is empty; specify at least one address");
  if (emails.length > max) {
    throw new InvalidArgumentError(`emails has ${emails.length} addresses; one request can have at most ${max}`);
  }
  // forEach would skip holes in the array.
  for (const [at, email] of emails.entries()) assertNotBlank(`emails[${at}]`, email);
}
