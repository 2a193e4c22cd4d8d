import type { SettingsClient, VipEmployeeRow } from "../client";
import { type People, peopleOf } from "../settings/tenant-people";
import type { Snapshot } from "./snapshot";

/** So many VIPs are enough to see whose mailboxes a tenant has. */
const SAMPLE_SIZE = 100;

export class PeopleCache {
  readonly #client: SettingsClient;
  readonly #vips: Snapshot<VipEmployeeRow>;
  #lastResult: { readonly rows: unknown; readonly people: People } | undefined;

  constructor(client: SettingsClient, vips: Snapshot<VipEmployeeRow>) {
    this.#client = client;
    this.#vips = vips;
  }

  /** Reads the people from the VIP snapshot if one exists or is about to be read, otherwise from one page. */
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

  /** Returns the people of the latest VIP snapshot, if there is one. Sends no request. */
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
