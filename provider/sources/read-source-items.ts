import type { SourceDeclaration } from "../settings-files/source-schema";
import type { SourceContent, SourceContext } from "./source-content";

/** Reads a source. Each reader is loaded on demand, because most runs need only one. */
export async function readSourceItems(
  source: SourceDeclaration,
  context: SourceContext,
): Promise<SourceContent | "not-modified"> {
  switch (source.kind) {
    case "microsoft-graph":
      return await (await import("./directories/microsoft-graph.js")).readMicrosoftGraph(source, context);
    case "google-directory":
      return await (await import("./directories/google-directory.js")).readGoogleDirectory(source, context);
    case "ldap":
      return await (await import("./directories/ldap.js")).readLdap(source, context);
    default:
      return await (await import("./feeds/read-feed.js")).readFeed(source, context);
  }
}
