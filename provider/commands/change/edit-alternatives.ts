import { formatIncludedFileAlternatives } from "../../gitops/included-file-advice";
import { type DeclaredItem, getListName, getSection, type ListChange } from "../../gitops/list-change";
import { quoteShellWord } from "../../model/shell-word";
import { excerpt, quote, sanitizeLine } from "../../model/text";
import type { Settings } from "../../settings-files/settings-model";
import { formatDeclaration, getDeclarationValue } from "./declaration-index";

/** A change of an existing declaration. */
type ExistingChange = Exclude<ListChange, { action: "add" }>;

/** Suggests what to do instead of a change in an included file. */
export function formatAlternatives(settings: Settings, change: ExistingChange, item: DeclaredItem): string {
  return formatIncludedFileAlternatives(settings, item, {
    subject: `the ${formatDeclaration(item)}`,
    formatIncludedFileAdvice: (file) => {
      const command = buildCommandInFile(change, item, file);
      return command === undefined ? `set --file ${quote(file, 300)}` : `\`${command}\``;
    },
    ownFileAdvice: formatOwnFileAdvice(settings, change, item),
  });
}

function formatOwnFileAdvice({ file, files }: Settings, change: ExistingChange, item: DeclaredItem): string {
  const section = getSection(item);
  const rootFile = quote(files[0] ?? file, 300);
  const name = excerpt(getDeclarationValue(item), 300);
  if (change.action === "keep") {
    return `declare it in ${rootFile} too, with its own \`reviewed\`, for this tenant only`;
  }
  if (change.action === "extend") {
    const { expires } = change.metadata;
    const expiresText = expires === undefined ? "" : `, expires: ${expires}`;
    return `write \`{ ${section === "vips" ? "email" : "value"}: ${name}${expiresText} }\` under \`${section}:\` in ${rootFile}, for this tenant only`;
  }
  const additionText = change.action === "move" ? `, and then \`add ${change.to} ${name}\`` : "";
  return `write \`remove: {${section}: [${name}]}\` in ${rootFile}, for this tenant only${additionText}`;
}

/** Returns the command that makes the same change in the declaring file. Undefined if the file name can't be shown safely. */
function buildCommandInFile(
  change: Exclude<ListChange, { action: "add" }>,
  item: DeclaredItem,
  file: string,
): string | undefined {
  const { expires } = change.metadata;
  const words = [
    "email-security",
    ...getSubcommand(change),
    getDeclarationValue(item),
    ...(change.action === "move" ? ["--to", change.to] : []),
    ...(change.action !== "move" && change.section !== undefined ? ["--list", getListName(change.section)] : []),
    ...(change.scope === undefined ? [] : ["--scope", change.scope]),
    ...(expires === undefined ? [] : ["--for", expires]),
    ...("reviewed" in change && change.reviewed?.reason !== undefined ? ["--reason", change.reviewed.reason] : []),
    "--file",
    file.startsWith("-") ? `./${file}` : file,
  ].map(quoteShellWord);
  const command = words.join(" ");
  return sanitizeLine(command) === command ? command : undefined;
}

function getSubcommand(change: Exclude<ListChange, { action: "add" }>): string[] {
  if (change.action !== "keep" && !("reviewed" in change)) return [change.action];
  return ["review", change.action === "remove" ? "drop" : change.action];
}
