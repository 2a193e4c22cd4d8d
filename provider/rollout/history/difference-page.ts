import { ELEMENT_FIELDS, TEXT_FIELD_NAMES, type TextFieldName } from "../../files/element-fields";
import { SIGNS } from "../../plan/render/plan-words";
import { counted, given, join, number, say, sentence, type Words } from "../../render/words";
import type { DeclaredAs, DeclaredChange, RolloutDifference, TenantDifference } from "../model/history-schema";
import { TENANT_STATES } from "../report/state-words";
import { namesWords, sharedLines, whatWords } from "./change-words";
import { FIELDS } from "./difference";
import type { ToldLine, ToldPage, ToldPart } from "./told-page";

/** Builds the page that compares two rollouts. A difference that several tenants share appears once. */
export function differencePage({ from, to, tenants, same }: RolloutDifference): ToldPage {
  const comparable = tenants.filter(({ only }) => only === undefined);
  const changed = comparable.filter(({ changes }) => changes.length > 0);
  const notAppliedLines = comparable.flatMap((tenant) => buildNotAppliedLines(tenant, from.id, to.id));
  return {
    title: say`From ${given(from.id)} to ${given(to.id)}`,
    about: [
      say`${given(from.digest)} → ${given(to.digest)}`,
      [`Of the tenants of both, ${number(comparable.length)} differ and ${number(same)} are declared alike.`],
    ],
    parts: [
      ...buildPageSection(
        say`Declared otherwise in ${counted(changed.length, "tenant")}`,
        sharedLines(changed, buildDeclaredChangeLine),
      ),
      ...buildPageSection(["Can't be compared"], comparable.flatMap(buildUnreadableLines)),
      ...buildPageSection(["Not brought to what was declared"], notAppliedLines),
      ...buildOnlyInSection(tenants, "from", from.id),
      ...buildOnlyInSection(tenants, "to", to.id),
    ],
  };
}

function buildPageSection(heading: Words, lines: readonly ToldLine[]): readonly ToldPart[] {
  return lines.length === 0 ? [] : [{ heading, lines }];
}

function buildNotAppliedLines({ name, states = {} }: TenantDifference, from: string, to: string): readonly ToldLine[] {
  const sides = [
    [from, states.from],
    [to, states.to],
  ] as const;
  return sides.flatMap(([id, state]) =>
    state === undefined
      ? []
      : [{ mark: "!", words: say`${given(name)} by ${given(id)}: ${TENANT_STATES[state].word}` }],
  );
}

function buildUnreadableLines({ name, unreadable }: TenantDifference): readonly ToldLine[] {
  return unreadable === undefined ? [] : [{ mark: "!", words: say`${given(name)}: ${sentence(unreadable)}` }];
}

function buildDeclaredChangeLine(change: DeclaredChange): ToldLine {
  const { sign, before, after } = change;
  const details =
    before !== undefined && after !== undefined
      ? FIELDS.filter((field) => field !== "list" && before[field]?.toString() !== after[field]?.toString()).map(
          (field): Words => say`${FIELD_LABELS[field]} ${formatValue(before[field])} → ${formatValue(after[field])}`,
        )
      : FIELDS.flatMap((field) => {
          const value = (after ?? before)?.[field];
          return field === "list" || value === undefined ? [] : [say`${FIELD_LABELS[field]} ${given(String(value))}`];
        });
  return {
    mark: SIGNS[sign],
    words: whatWords(change),
    ...(details.length === 0 ? {} : { more: [join(details, " · ")] }),
  };
}

const FIELD_LABELS: Readonly<Record<keyof DeclaredAs, string>> = {
  list: "list",
  ...(Object.fromEntries(TEXT_FIELD_NAMES.map((name) => [name, ELEMENT_FIELDS[name].label])) as Record<
    TextFieldName,
    string
  >),
};

function formatValue(value: unknown): Words {
  return value === undefined ? ["none"] : [given(String(value))];
}

function buildOnlyInSection(tenants: readonly TenantDifference[], side: "from" | "to", id: string): ToldPart[] {
  const names = tenants.filter((tenant) => tenant.only === side).map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    {
      heading: say`Only in ${given(id)}: ${counted(names.length, "tenant")}`,
      lines: [{ mark: "", words: namesWords(names, 20) }],
    },
  ];
}
