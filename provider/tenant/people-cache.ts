import type { SettingsClient, VipEmployeeRow } from "../client";
import { type People, peopleOf } from "../settings/tenant-people";
import type { Snapshot } from "./snapshot";

/** So many VIPs are enough to see whose mailboxes a tenant has. */
const SAMPLE_SIZE = 100;

/** The people of the tenant, derived from its VIPs. */
export class PeopleCache {
  readonly #client: SettingsClient;
  readonly #vips: Snapshot<VipEmployeeRow>;
  #lastResult: { readonly rows: unknown; readonly people: People } | undefined;

  constructor(client: SettingsClient, vips: Snapshot<VipEmployeeRow>) {
    this.#client = client;
    this.#vips = vips;
  }

  /** By the shared reading of the VIPs where there is one or one is about to be made anyway, else by one page. */
  async read({ isRead }: { readonly isRead: boolean }): Promise<People> {
    if (isRead) await this.#vips.rows();
    const cached = this.known();
    if (cached !== undefined) return cached;
    const { items, total } = await this.#client.vipEmployees.list({ page_size: SAMPLE_SIZE });
    return peopleOf(
      items.map(({ email }) => email),
      items.length === total,
    );
  }

  /** By the last reading of the VIPs, if there was one. Reads nothing. */
  known(): People | undefined {
    const rows = this.#vips.newest();
    if (rows === undefined) return undefined;
    if (this.#lastResult?.rows !== rows) {
      const mailboxes = rows.all().map(({ email }) => email);
      this.#lastResult = { rows, people: peopleOf(mailboxes, true) };
    }
    return this.#lastResult.people;
  }
}
