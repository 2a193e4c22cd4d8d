import type { SettingsClient, VipEmployeeRow } from "../client";
import { collectMailDomains, type MailDomains } from "../model/mail-domains";
import type { Snapshot } from "./snapshot";

/** The number of VIPs that is enough to determine the tenant's mail domains. */
const SAMPLE_SIZE = 100;

export class MailDomainCache {
  readonly #client: SettingsClient;
  readonly #vips: Snapshot<VipEmployeeRow>;
  #lastResult: { readonly rows: unknown; readonly people: MailDomains } | undefined;

  constructor(client: SettingsClient, vips: Snapshot<VipEmployeeRow>) {
    this.#client = client;
    this.#vips = vips;
  }

  /** Reads the mail domains from the VIP snapshot if one exists or is about to be read, otherwise from one page. */
  async read({ isRead }: { readonly isRead: boolean }): Promise<MailDomains> {
    if (isRead) await this.#vips.getRows();
    const cached = this.getCached();
    if (cached !== undefined) return cached;
    const { items, total } = await this.#client.vipEmployees.list({ page_size: SAMPLE_SIZE });
    return collectMailDomains(
      items.map(({ email }) => email),
      items.length === total,
    );
  }

  /** Returns the mail domains of the latest VIP snapshot, if there is one. Sends no request. */
  getCached(): MailDomains | undefined {
    const rows = this.#vips.getLatestRows();
    if (rows === undefined) return undefined;
    if (this.#lastResult?.rows !== rows) {
      const mailboxes = rows.getAll().map(({ email }) => email);
      this.#lastResult = { rows, people: collectMailDomains(mailboxes, true) };
    }
    return this.#lastResult.people;
  }
}
