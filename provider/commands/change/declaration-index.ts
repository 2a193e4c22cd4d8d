import { type DeclaredItem, getListName, getSection } from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { listCoveringValues } from "../../model/covering-values";
import { excerpt } from "../../model/text";
import { labelTextFields, pickMetadata } from "../../settings-files/element-fields";
import { formatLineLocation } from "../../settings-files/finding";
import type { DeclaredEntry, Settings } from "../../settings-files/settings-model";

export class DeclarationIndex {
  readonly #declared: ReadonlyMap<string, readonly DeclaredItem[]>;
  readonly #expired: ReadonlyMap<string, readonly DeclaredItem[]>;
  readonly #excluded: ReadonlyMap<string, Settings["excluded"]>;
  /** The entries by each value that covers them. Built at the first use. */
  #covered: ReadonlyMap<string, readonly DeclaredEntry[]> | undefined;

  constructor({ entries, vips, expired, excluded }: Settings) {
    this.#declared = Map.groupBy([...entries, ...vips] as DeclaredItem[], getDeclarationValue);
    this.#expired = Map.groupBy(expired, getDeclarationValue);
    this.#excluded = Map.groupBy(excluded, ({ declaration }) => getDeclarationValue(declaration));
  }

  /** Returns the active declarations of a value. */
  getActive(value: string): readonly DeclaredItem[] {
    return this.#declared.get(value) ?? [];
  }

  getExpired(value: string): readonly DeclaredItem[] {
    return this.#expired.get(value) ?? [];
  }

  /** Returns the declarations from included files that another file excludes. */
  getExcluded(value: string): Settings["excluded"] {
    return this.#excluded.get(value) ?? [];
  }

  /** Returns the entries for parent domains, the closest first. For a mailbox, they include its own domain. */
  getCoveringEntries(value: string): readonly DeclaredEntry[] {
    return listCoveringValues(value)
      .flatMap((broaderValue) => this.getActive(broaderValue))
      .filter((declaration) => declaration.kind === "entry");
  }

  /** Returns the entries for values that a broader value covers. */
  getCoveredEntries(value: string): readonly DeclaredEntry[] {
    this.#covered ??= this.#indexCoveredEntries();
    return this.#covered.get(value) ?? [];
  }

  #indexCoveredEntries(): ReadonlyMap<string, readonly DeclaredEntry[]> {
    const covered = new Map<string, DeclaredEntry[]>();
    for (const declaration of [...this.#declared.values()].flat()) {
      if (declaration.kind !== "entry") continue;
      for (const broaderValue of listCoveringValues(declaration.value)) {
        const entries = covered.get(broaderValue);
        if (entries === undefined) covered.set(broaderValue, [declaration]);
        else entries.push(declaration);
      }
    }
    return covered;
  }
}

/** Formats a declaration briefly: "deny of evil.example (settings.yaml:12, INC-7, until 2026-12-01)". */
export function formatDeclaration(declaration: DeclaredItem): string {
  const { comment, expires } = declaration;
  // The approval is left out, because it says nothing about the change that this text is for.
  const { ticket, approvedBy: _approval, ...metadata } = pickMetadata(declaration);
  const isScoped = declaration.kind === "entry" && declaration.verdictScope !== DEFAULT_VERDICT_SCOPE;
  const details = [
    formatLineLocation(declaration.location),
    isScoped ? `scope ${excerpt(declaration.verdictScope)}` : "",
    excerpt(ticket ?? ""),
    ...labelTextFields(metadata).map(([label, text]) => `${label} ${excerpt(text)}`),
    formatDeclaredExpiry(expires),
    comment === undefined ? "" : `“${excerpt(comment)}”`,
  ].filter((text) => text !== "");
  return `${getListName(getSection(declaration))} of ${excerpt(getDeclarationValue(declaration), 300)} (${details.join(", ")})`;
}

function formatDeclaredExpiry(expires: string | undefined): string {
  return expires === undefined ? "" : expires === "never" ? "without an expiry date" : `until ${expires}`;
}

export function getDeclarationValue(declaration: DeclaredItem): string {
  return declaration.kind === "vip" ? declaration.email : declaration.value;
}

export function addArticle(text: string): string {
  return `${text.startsWith("a") ? "an" : "a"} ${text}`;
}
