import type { SettingsClient, VipEmployeeRow } from "../client";
import { type People, peopleOf } from "../settings/tenant-people";
import type { Snapshot } from "./snapshot";

/** The number of VIPs that suffices to tell which organization's mailboxes a tenant has. */
const PEOPLE_ASKED = 100;

export class PeopleCache {
  readonly #client: SettingsClient;
  readonly #vips: Snapshot<VipEmployeeRow>;
  #last: { readonly rows: unknown; readonly people: People } | undefined;

  constructor(client: SettingsClient, vips: Snapshot<VipEmployeeRow>) {
    this.#client = client;
    this.#vips = vips;
  }

  /** Reads the people from the VIP snapshot if one exists or is about to be read, otherwise from one page. */
  async read({ isRead }: { readonly isRead: boolean }): Promise<People> {
    if (isRead) await this.#vips.rows();
    const known = this.known();
    if (known !== undefined) return known;
    const { items, total } = await this.#client.vipEmployees.list({ page_size: PEOPLE_ASKED });
    return peopleOf(
      items.map(({ email }) => email),
      items.length === total,
    );
  }

  /** Returns the people of the latest VIP snapshot, if there is one. Sends no request. */
  known(): People | undefined {
    const rows = this.#vips.newest();
    if (rows === undefined) return undefined;
    if (this.#last?.rows !== rows) {
      const mailboxes = rows.all().map(({ email }) => email);
      this.#last = { rows, people: peopleOf(mailboxes, true) };
    }
    return this.#last.people;
  }
}
