import { z } from "zod";
import { MAX_VIP_REMOVALS, SETTINGS_PAGE_SIZE } from "../settings/assumptions";
import { excerpt } from "../settings/text";
import { resultsOf, settingsPageOf } from "./envelope";
import { InvalidArgumentError, NotInOrganizationError, ServiceError } from "./errors";
import { arrayOf } from "./fields";
import { iterate, type PagedList, type ReadAllOptions, readWholeList, type Stopwatch } from "./paging";
import {
  checkFilled,
  checkKeys,
  checkOneOf,
  checkOptional,
  checkOptionalText,
  checkText,
} from "./parameters";
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

/** What to list (reference, section "VIP employees"). */
export interface ListVipsQuery {
  /** Which page, 1-based. Default: 1. */
  readonly page?: number;
  /** VIPs a page, 1 to 200. Default of the service: 50. */
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
   * One page of VIPs, automatic and manual; rows without a mailbox come last: `GET /api/v1/settings/vip_employees`.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async list(query: ListVipsQuery = {}): Promise<Page<VipEmployeeRow>> {
    return await this.#fetchPage(query);
  }

  async #fetchPage(query: ListVipsQuery, stopwatch?: Stopwatch): Promise<Page<VipEmployeeRow>> {
    checkKeys("query", query, [...FILTER_PARAMETERS, "page", "page_size"]);
    checkOptionalText("q", query.q);
    if (query.sort !== undefined) checkOneOf("sort", ["asc", "desc"], query.sort);
    return await this.#transport.send({
      method: "GET",
      path: PATH,
      query: {
        page: checkOptional("page", query.page) ?? 1,
        page_size: checkOptional("page_size", query.page_size, SETTINGS_PAGE_SIZE),
        q: query.q,
        sort: query.sort,
      },
      envelope: "settings-page",
      answer: settingsPageOf(vipEmployee),
      stopwatch,
    });
  }

  /**
   * All VIPs, in ⌈N/200⌉ requests of `GET /api/v1/settings/vip_employees`, as one consistent reading.
   *
   * @throws {ListUnstableError} when the list keeps changing underneath.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async readAll(options?: ReadAllOptions<VipEmployeeRow>): Promise<VipEmployeeRow[]> {
    return await readWholeList(this.#buildPagedList({}), options);
  }

  /**
   * The VIPs one by one, as their pages of 200 come in (`GET /api/v1/settings/vip_employees`; no request after a
   * `break`). A list of more than one page is read again until a whole reading brings nothing new.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ListUnstableError} when the list keeps moving; what came until then is not the whole list.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async *iterate(
    query: Omit<ListVipsQuery, "page" | "page_size"> = {},
  ): AsyncGenerator<VipEmployeeRow, void, undefined> {
    checkKeys("query", query, FILTER_PARAMETERS);
    yield* iterate(this.#buildPagedList(query));
  }

  #buildPagedList(query: Omit<ListVipsQuery, "page" | "page_size">): PagedList<VipEmployeeRow> {
    return {
      name: "VIP list",
      fetchPage: (page, stopwatch) =>
        this.#fetchPage({ ...query, page, page_size: SETTINGS_PAGE_SIZE }, stopwatch),
      identity: nameOfVipRow,
    };
  }

  /**
   * Marks mailboxes as VIP, all or none: `POST /api/v1/settings/vip_employees`. Addresses already listed are no error.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {NotInOrganizationError} when any address does not belong to the organization, in whatever status the
   * service says so; nothing was written.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async add(emails: readonly string[], comment?: string): Promise<AddVipResult> {
    assertEmails(emails);
    checkOptionalText("comment", comment);
    const body = comment === undefined ? { emails } : { emails, comment };
    let result: AddVipResult;
    try {
      result = await this.#transport.send({
        method: "POST",
        path: PATH,
        body,
        isBatch: true,
        envelope: "object",
        answer: addResponseSchema,
      });
    } catch (error) {
      throw parseNotInOrganizationError(error) ?? error;
    }
    if (result.not_in_org.length > 0) {
      const addresses = result.not_in_org.map((address) => this.#transport.withoutKey(address));
      throw outsideOrganization(addresses, { request: { method: "POST", path: `/api/v1${PATH}` } });
    }
    return result;
  }

  /**
   * Replaces the comment of a manually added VIP: `PATCH /api/v1/settings/vip_employees`. The answer is the stored row,
   * without name, job title and department.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {NotFoundError} for a VIP by automatic detection, which has no stored row, and for who is no VIP.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async editComment(email: string, comment: string): Promise<VipStoredRow> {
    checkFilled("email", email);
    checkText("comment", comment);
    return await this.#transport.send({
      method: "PATCH",
      path: PATH,
      body: { email, comment },
      envelope: "object",
      answer: resultsOf(vipStoredRow),
    });
  }

  /**
   * Writes an exclusion for each of 1 to 1000 mailboxes: `POST /api/v1/settings/vip_employees/remove`. It lasts:
   * automatic detection will not make the mailbox a VIP again. Idempotent: `affected` counts the exclusions written now.
   * Addresses are not checked against the directory; a mistyped one is excluded too.
   *
   * @throws {InvalidArgumentError} when a parameter can't be sent; no request was made.
   * @throws {ServiceError} when the service refuses, can't be reached, or answers something else.
   */
  async remove(emails: readonly string[]): Promise<RemoveVipResult> {
    assertEmails(emails, MAX_VIP_REMOVALS);
    return await this.#transport.send({
      method: "POST",
      path: `${PATH}/remove`,
      body: { emails },
      isBatch: true,
      envelope: "object",
      answer: resultsOf(removeVipResult),
    });
  }
}

/**
 * What tells a row from all others; undefined for one without a mailbox. A mailbox may stand there several times: once
 * detected and once added, or written in two ways. That is no list that moves, so a row is known by how it is written.
 */
export function nameOfVipRow({ email, source, added_by, date_added }: VipEmployeeRow): string | undefined {
  if (email === undefined) return undefined;
  const details = [source, added_by, date_added].filter((text) => text !== undefined);
  return details.length === 0 ? email : `${email} (${details.join(", ")})`;
}

/** Addresses outside the organization: they may be named at the top or under `results`, whatever else is there. */
const outsidersSchema = z
  .object({ not_in_org: arrayOf(z.string()).refine((addresses) => addresses.length > 0) })
  .transform(({ not_in_org }): AddVipResult => ({ added: [], already_vip: [], not_in_org }));
const refusalSchema = resultsOf(outsidersSchema).or(outsidersSchema);
const addResponseSchema = refusalSchema.or(resultsOf(addVipResult));

function parseNotInOrganizationError(error: unknown): NotInOrganizationError | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const parsed = refusalSchema.safeParse(error.body);
  if (!parsed.success) return undefined;
  return outsideOrganization(parsed.data.not_in_org, {
    request: error.request,
    serviceMessage: error.serviceMessage,
    cause: error,
    ...(error.status === undefined ? {} : { status: error.status }),
  });
}

/** The error about addresses that are no mailboxes of the organization. */
export function outsideOrganization(
  addresses: readonly string[],
  options: ConstructorParameters<typeof NotInOrganizationError>[2],
): NotInOrganizationError {
  const addressText = addresses
    .slice(0, 10)
    .map((address) => excerpt(address))
    .join(", ");
  const moreText = addresses.length > 10 ? ` and ${addresses.length - 10} more` : "";
  const predicate = addresses.length === 1 ? "is no mailbox" : "are no mailboxes";
  return new NotInOrganizationError(
    addresses,
    `${addressText}${moreText} ${predicate} of the organization, says the service; the request wrote nothing. Check the spelling, that the mailbox exists in the directory, and that the API key is the right tenant's.`,
    options,
  );
}

function assertEmails(emails: readonly string[], max = Number.MAX_SAFE_INTEGER): void {
  if (!Array.isArray(emails)) throw new InvalidArgumentError("emails must be a list of addresses");
  if (emails.length === 0) throw new InvalidArgumentError("emails is empty; give at least one address");
  if (emails.length > max) {
    throw new InvalidArgumentError(
      `emails holds ${emails.length} addresses; one request takes at most ${max}`,
    );
  }
  // Not by forEach, which passes over holes.
  for (const [at, email] of emails.entries()) checkFilled(`emails[${at}]`, email);
}
