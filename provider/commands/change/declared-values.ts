import { lineText } from "../../files/finding";
import type { DeclaredEntry, Settings } from "../../files/settings";
import { type Declaration, listName, sectionOf } from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { coveringValues } from "../../settings/coverage";
import { excerpt } from "../../settings/text";

/** Looks up declarations in settings files by value. */
export class DeclaredValues {
  readonly #declared: ReadonlyMap<string, readonly Declaration[]>;
  readonly #expired: ReadonlyMap<string, readonly Declaration[]>;
  readonly #excluded: ReadonlyMap<string, Settings["excluded"]>;

  constructor({ entries, vips, expired, excluded }: Settings) {
    this.#declared = Map.groupBy([...entries, ...vips] as Declaration[], nameOf);
    this.#expired = Map.groupBy(expired, nameOf);
    this.#excluded = Map.groupBy(excluded, ({ declared }) => nameOf(declared));
  }

  /** Returns the active declarations of a value. */
  of(value: string): readonly Declaration[] {
    return this.#declared.get(value) ?? [];
  }

  /** Returns the expired declarations of a value. */
  expired(value: string): readonly Declaration[] {
    return this.#expired.get(value) ?? [];
  }

  /** Returns the declarations from included files that another file excludes. */
  excluded(value: string): Settings["excluded"] {
    return this.#excluded.get(value) ?? [];
  }

  /** Returns the entries for parent domains, the closest first. For a mailbox, they include its own domain. */
  above(value: string): readonly DeclaredEntry[] {
    return coveringValues(value)
      .flatMap((broaderValue) => this.of(broaderValue))
      .filter((declaration) => declaration.kind === "entry");
  }
}

/** Formats a declaration briefly: "deny of evil.example (settings.yaml:12, INC-7, until 2026-12-01)". */
export function standingText(declaration: Declaration): string {
  const { ticket, owner, comment, expires } = declaration;
  const isScoped = declaration.kind === "entry" && declaration.verdictScope !== DEFAULT_VERDICT_SCOPE;
  const details = [
    lineText(declaration.place),
    isScoped ? `scope ${excerpt(declaration.verdictScope)}` : "",
    excerpt(ticket ?? ""),
    owner === undefined ? "" : `owner ${excerpt(owner)}`,
    formatDeclaredExpiry(expires),
    comment === undefined ? "" : `“${excerpt(comment)}”`,
  ].filter((text) => text !== "");
  return `${listName(sectionOf(declaration))} of ${excerpt(nameOf(declaration), 300)} (${details.join(", ")})`;
}

function formatDeclaredExpiry(expires: string | undefined): string {
  return expires === undefined ? "" : expires === "never" ? "without end" : `until ${expires}`;
}

/** Returns the canonical value or mailbox of a declaration. */
export function nameOf(declaration: Declaration): string {
  return declaration.kind === "vip" ? declaration.email : declaration.value;
}
