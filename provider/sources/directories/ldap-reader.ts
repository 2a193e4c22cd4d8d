import { type Client, type Entry, escapeFilter } from "ldapts";
import { forEachConcurrently } from "../../model/for-each-concurrently";
import { formatFirstItems, quote } from "../../model/text";
import { type SourceContent, type SourceContext, SourceError } from "../source-content";
import { GroupPeople } from "./group-people";
import { connectLdap, getResultCode, toSourceError } from "./ldap-connection";
import { addPerson, getValues, isGroup, listMemberNames, PERSON_ATTRIBUTES } from "./ldap-entries";

/** A group in an LDAP directory. */
export interface LdapGroup {
  readonly url: string;
  readonly base: string;
  /** The group's `cn`, or its distinguished name. */
  readonly group: string;
  /** The attribute with the mailbox. Default: `mail`. */
  readonly mailAttribute?: string | undefined;
}

const PAGE_SIZE = 500;
const CONCURRENT_READS = 16;
/** Far more than the nested groups of a real directory; it bounds what one run reads. */
const MAX_GROUPS = 1_000;
const NO_SUCH_OBJECT = 32;
/** The capability of Active Directory, whose servers follow nested groups themselves. */
const ACTIVE_DIRECTORY = "1.2.840.113556.1.4.800";
const MATCHING_RULE_IN_CHAIN = "1.2.840.113556.1.4.1941";
const GROUP_FILTER =
  "(|(objectClass=group)(objectClass=groupOfNames)(objectClass=groupOfUniqueNames)(objectClass=groupOfMembers)(objectClass=posixGroup))";

/** @throws {SourceError} if the group can't be read completely. */
export async function readLdapGroup(source: LdapGroup, context: SourceContext): Promise<SourceContent> {
  const client = await connectLdap(source.url, context);
  const stop = () => void client.unbind().catch(() => undefined);
  context.signal.addEventListener("abort", stop);
  try {
    return await new LdapReader(client, source, context).read();
  } catch (error) {
    throw toSourceError(error, `The group ${quote(source.group)} can't be read`, context);
  } finally {
    context.signal.removeEventListener("abort", stop);
    await client.unbind().catch(() => undefined);
  }
}

class LdapReader {
  readonly #client: Client;
  readonly #source: LdapGroup;
  readonly #context: SourceContext;
  readonly #people: GroupPeople;
  readonly #attributes: string[];

  constructor(client: Client, source: LdapGroup, context: SourceContext) {
    this.#client = client;
    this.#source = source;
    this.#context = context;
    this.#people = new GroupPeople(context);
    this.#attributes = [...PERSON_ATTRIBUTES, ...(source.mailAttribute === undefined ? [] : [source.mailAttribute])];
  }

  async read(): Promise<SourceContent> {
    const root = await this.#readEntry("", ["supportedCapabilities", "defaultNamingContext"]);
    const group = await this.#findGroup();
    if (getValues(root, "supportedCapabilities").includes(ACTIVE_DIRECTORY)) {
      // People can be outside of the base, which says only where the group is.
      await this.#readActiveDirectory(group, getValues(root, "defaultNamingContext")[0] ?? this.#source.base);
    } else {
      await this.#readNestedGroups(group);
    }
    return this.#people.toContent();
  }

  async #findGroup(): Promise<Entry> {
    const { base, group, url } = this.#source;
    const entry = group.includes("=") ? await this.#readEntry(group) : await this.#findGroupByName();
    if (entry !== undefined) return entry;
    throw new SourceError(
      `The source ${this.#context.name} can't be read. ${quote(url)} has no group ${quote(group)} below ${quote(base)} that this user is allowed to read. Correct group or base.`,
    );
  }

  async #findGroupByName(): Promise<Entry | undefined> {
    const { base, group } = this.#source;
    const filter = `(&${GROUP_FILTER}${escapeFilter`(cn=${group})`})`;
    const groups = await this.#search(base, filter);
    if (groups.length <= 1) return groups[0];
    throw new SourceError(
      `The source ${this.#context.name} can't be read. ${groups.length} groups are named ${quote(group)}. Set group to one of their distinguished names: ${formatFirstItems(groups, ({ dn }) => quote(dn))}.`,
    );
  }

  /** Ranges of a large group's members are avoided, because the server searches for people whose groups lead to this one. */
  async #readActiveDirectory({ dn }: Entry, base: string): Promise<void> {
    const filter = `(&(objectCategory=person)(memberOf:${MATCHING_RULE_IN_CHAIN}:=${escapeFilter`${dn}`}))`;
    for await (const { searchEntries } of this.#client.searchPaginated(base, this.#pages(filter))) {
      for (const person of searchEntries) this.#add(person);
      if (this.#people.isOverLimit) return;
    }
  }

  /** Visits each group once, because groups can contain each other. */
  async #readNestedGroups(group: Entry): Promise<void> {
    const visited = new Set([toKey(group.dn)]);
    let groupCount = 1;
    let pending = this.#listMembers(group);
    while (pending.length > 0 && !this.#people.isOverLimit) {
      const names = pending.filter((name) => !visited.has(toKey(name)) && visited.add(toKey(name)));
      pending = [];
      await forEachConcurrently(names, CONCURRENT_READS, async (name) => {
        const entry = await this.#readEntry(name);
        if (entry === undefined) this.#people.skip("not found in the directory", name);
        else if (!isGroup(entry)) this.#add(entry);
        else {
          groupCount += 1;
          pending = pending.concat(this.#listMembers(entry));
        }
      });
      if (groupCount > MAX_GROUPS) throw new Error(`it has more than ${MAX_GROUPS} nested groups`);
    }
  }

  #listMembers(group: Entry): string[] {
    const names = listMemberNames(group);
    if (names !== undefined) return names;
    throw new SourceError(
      `The source ${this.#context.name} can't be read. The group ${quote(group.dn)} doesn't list its members by distinguished name (member or uniqueMember). Use another group.`,
    );
  }

  #add(person: Entry): void {
    addPerson(this.#people, person, this.#source.mailAttribute ?? "mail");
  }

  async #readEntry(dn: string, attributes: string[] = this.#attributes): Promise<Entry | undefined> {
    try {
      const { searchEntries } = await this.#client.search(dn, { scope: "base", attributes });
      return searchEntries[0];
    } catch (error) {
      if (getResultCode(error) === NO_SUCH_OBJECT) return undefined;
      throw error;
    }
  }

  async #search(base: string, filter: string): Promise<Entry[]> {
    const { searchEntries } = await this.#client.search(base, this.#pages(filter));
    return searchEntries;
  }

  #pages(filter: string) {
    return { filter, attributes: this.#attributes, paged: { pageSize: PAGE_SIZE }, timeLimit: 0 };
  }
}

/** Servers compare names without regard to case. A name in two other spellings is only read twice. */
function toKey(dn: string): string {
  return dn.toLowerCase();
}
