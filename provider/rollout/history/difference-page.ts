import { ELEMENT_FIELDS, TEXT_FIELD_NAMES, type TextFieldName } from "../../files/element-fields";
import { SIGNS } from "../../plan/render/plan-words";
import { counted, given, join, number, say, sentence, type Words } from "../../render/words";
import type {
  DeclaredAs,
  DeclaredChange,
  RolloutDifference,
  TenantDifference,
} from "../model/history-schema";
import { TENANT_STATES } from "../report/state-words";
import { namesWords, sharedLines, whatWords } from "./change-words";
import { FIELDS } from "./difference";
import type { ToldLine, ToldPage, ToldPart } from "./told-page";

/** Builds the page that compares two rollouts. A difference that several tenants share appears once. */
export function differencePage({ from, to, tenants, same }: RolloutDifference): ToldPage {
  const both = tenants.filter(({ only }) => only === undefined);
  const changed = both.filter(({ changes }) => changes.length > 0);
  const unlike = both.flatMap((one) => notBrought(one, from.id, to.id));
  return {
    title: say`From ${given(from.id)} to ${given(to.id)}`,
    about: [
      say`${given(from.digest)} → ${given(to.digest)}`,
      [`Of the tenants of both, ${number(both.length)} differ and ${number(same)} are declared alike.`],
    ],
    parts: [
      ...part(
        say`Declared otherwise in ${counted(changed.length, "tenant")}`,
        sharedLines(changed, changeLine),
      ),
      ...part(["Can't be compared"], both.flatMap(unreadableLine)),
      ...part(["Not brought to what was declared"], unlike),
      ...onlyIn(tenants, "from", from.id),
      ...onlyIn(tenants, "to", to.id),
    ],
  };
}

function part(heading: Words, lines: readonly ToldLine[]): readonly ToldPart[] {
  return lines.length === 0 ? [] : [{ heading, lines }];
}

function notBrought({ name, states = {} }: TenantDifference, from: string, to: string): readonly ToldLine[] {
  const told = [
    [from, states.from],
    [to, states.to],
  ] as const;
  return told.flatMap(([id, state]) =>
    state === undefined
      ? []
      : [{ mark: "!", words: say`${given(name)} by ${given(id)}: ${TENANT_STATES[state].word}` }],
  );
}

function unreadableLine({ name, unreadable }: TenantDifference): readonly ToldLine[] {
  return unreadable === undefined ? [] : [{ mark: "!", words: say`${given(name)}: ${sentence(unreadable)}` }];
}

function changeLine(change: DeclaredChange): ToldLine {
  const { sign, before, after } = change;
  const facts =
    before !== undefined && after !== undefined
      ? FIELDS.filter(
          (field) => field !== "list" && before[field]?.toString() !== after[field]?.toString(),
        ).map((field): Words => say`${NAMES[field]} ${shown(before[field])} → ${shown(after[field])}`)
      : FIELDS.flatMap((field) => {
          const told = (after ?? before)?.[field];
          return field === "list" || told === undefined ? [] : [say`${NAMES[field]} ${given(String(told))}`];
        });
  return {
    mark: SIGNS[sign],
    words: whatWords(change),
    ...(facts.length === 0 ? {} : { more: [join(facts, " · ")] }),
  };
}

const NAMES: Readonly<Record<keyof DeclaredAs, string>> = {
  list: "list",
  ...(Object.fromEntries(TEXT_FIELD_NAMES.map((name) => [name, ELEMENT_FIELDS[name].label])) as Record<
    TextFieldName,
    string
  >),
};

function shown(value: unknown): Words {
  return value === undefined ? ["none"] : [given(String(value))];
}

function onlyIn(tenants: readonly TenantDifference[], only: "from" | "to", id: string): ToldPart[] {
  const names = tenants.filter((one) => one.only === only).map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    {
      heading: say`Only in ${given(id)}: ${counted(names.length, "tenant")}`,
      lines: [{ mark: "", words: namesWords(names, 20) }],
    },
  ];
}
