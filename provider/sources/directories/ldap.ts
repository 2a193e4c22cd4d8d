import { assertFeatureInstalled } from "../../model/optional-features";
import type { SourceContent, SourceContext } from "../source-content";
import type { LdapGroup } from "./ldap-reader";

/**
 * Reads the members of a group and of its nested groups.
 *
 * @throws {MissingPackageError} if `ldapts` is not installed.
 * @throws {SourceError} if the group can't be read completely.
 */
export async function readLdap(source: LdapGroup, context: SourceContext): Promise<SourceContent> {
  assertFeatureInstalled("ldap");
  context.signal.throwIfAborted();
  const { readLdapGroup } = await import("./ldap-reader.js");
  return await readLdapGroup(source, context);
}
