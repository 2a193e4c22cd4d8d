/** The pages of the site: what their files say of themselves, and the sidebar that follows from their folders. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";
import { parse } from "yaml";

export const docsFolder: string = dirname(dirname(fileURLToPath(import.meta.url)));

/** The pages of Pulumi's registry: it shows them by another tool, and has its own form for languages side by side. */
export const REGISTRY_PAGES: readonly string[] = ["_index.md", "installation-configuration.md"];

/** The reference of the package's types, which typedoc makes at each build. */
export const API_FOLDER = "reference/api";

export interface Page {
  /** From the folder of the docs, with `/`. */
  readonly path: string;
  readonly title: string;
  readonly frontMatter: Readonly<Record<string, unknown>>;
}

interface Kind {
  readonly folder: string;
  readonly title: string;
}

/** The kinds of pages, in the order of the sidebar. */
export const KINDS: readonly Kind[] = [
  { folder: "tutorials", title: "Tutorials" },
  { folder: "how-to", title: "How to" },
  { folder: "reference", title: "Reference" },
  { folder: "explanation", title: "Explanation" },
  { folder: "decisions", title: "Decisions" },
];

/** Folders that don't speak for themselves. */
const FOLDER_TITLES: Readonly<Record<string, string>> = { cli: "Command line", errors: "Errors" };

/** All pages of a folder and those below it. */
export function pagesIn(folder: string): Page[] {
  return markdownFiles(join(docsFolder, folder)).map((file) => readPage(file));
}

/** Where a page is on the site, from its root. */
export function linkTo(page: Page): string {
  return `/${page.path.replace(/\.md$/, "").replace(/(^|\/)index$/, "$1")}`;
}

/** A sidebar for the pages of all kinds, and one of its own for the reference of the types, which has as many again. */
export function sidebar(): DefaultTheme.SidebarMulti {
  const all = KINDS.flatMap(({ folder, title }) => {
    const items = itemsIn(folder);
    const first = getFirstPage(folder);
    const link = first === undefined ? {} : { link: linkTo(first) };
    return items.length > 0 ? [{ text: title, ...link, items }] : [];
  });
  return {
    [`/${API_FOLDER}/`]: [{ text: "Types of the package", link: `/${API_FOLDER}/`, items: modules() }],
    "/": all,
  };
}

/** The pages of a folder as a Markdown list, the first pages of the folders in it at its end. */
export function pageList(folder: string, from: string): string {
  const firsts = foldersIn(folder)
    .map((name) => `${folder}/${name}`)
    .filter((one) => one !== API_FOLDER)
    .flatMap((one) => pagesIn(one).filter(({ path }) => path === `${one}/index.md`));
  return [...sortedPages(folder), ...firsts]
    .map(({ path, title }) => `- [${title}](${relative(dirname(from), path).split(sep).join("/")})`)
    .join("\n");
}

/** What can be imported: a page each, by the name that a program imports. */
function modules(): DefaultTheme.SidebarItem[] {
  return pagesIn(API_FOLDER)
    .filter(({ path }) => path !== `${API_FOLDER}/index.md`)
    .map((page) => ({ text: page.title, link: linkTo(page) }));
}

function itemsIn(folder: string): DefaultTheme.SidebarItem[] {
  const pages = sortedPages(folder).map((page) => ({ text: page.title, link: linkTo(page) }));
  const folders = foldersIn(folder).map((name) => folderItem(`${folder}/${name}`, name));
  return [...pages, ...folders].filter((item) => item !== undefined);
}

/** A folder within a kind: closed until it is opened, and a link where it has a first page. */
function folderItem(folder: string, name: string): DefaultTheme.SidebarItem | undefined {
  if (folder === API_FOLDER) return { text: "Types of the package", link: `/${API_FOLDER}/` };
  const items = itemsIn(folder);
  const first = getFirstPage(folder);
  const text = first?.title ?? FOLDER_TITLES[name] ?? name;
  const head = first ? { text, link: linkTo(first) } : { text };
  if (items.length === 0) return first && head;
  return { ...head, collapsed: true, items };
}

/** Returns the page `index.md` of a directory; undefined if it has none. */
function getFirstPage(directory: string): Page | undefined {
  return pagesIn(directory).find(({ path }) => path === `${directory}/index.md`);
}

/** The pages right in a folder, but its first: by `order` in their front matter, then by title. */
function sortedPages(folder: string): Page[] {
  return pagesIn(folder)
    .filter(({ path }) => dirname(path) === folder && path !== `${folder}/index.md`)
    .sort((a, b) => orderOf(a) - orderOf(b) || a.title.localeCompare(b.title, "en"));
}

function orderOf({ frontMatter }: Page): number {
  const order = frontMatter["order"];
  return typeof order === "number" ? order : Number.MAX_SAFE_INTEGER;
}

function readPage(file: string): Page {
  const path = relative(docsFolder, file).split(sep).join("/");
  const text = readFileSync(file, "utf8");
  const head = /^---\r?\n(.*?)^---\s*$/ms.exec(text);
  const start = head?.index === 0 ? head[0] : "";
  const frontMatter = start === "" ? {} : ((parse(head?.[1] ?? "") as Record<string, unknown> | null) ?? {});
  const title = /^# (.+)$/m.exec(text.slice(start.length))?.[1] ?? String(frontMatter["title"] ?? path);
  return { path, title: plain(title), frontMatter };
}

/** A heading without its marks. */
function plain(heading: string): string {
  return heading
    .replaceAll("`", "")
    .replace(/\\([\\<>_*])/g, "$1")
    .trim();
}

function foldersIn(folder: string): string[] {
  return entriesOf(join(docsFolder, folder))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

function markdownFiles(folder: string): string[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name.startsWith(".") ? [] : markdownFiles(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

/** What is in a folder; nothing where there is none. */
function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
