/** Reads the pages of the site, and builds the sidebar from their directories. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { DefaultTheme } from "vitepress";
import { parse } from "yaml";

export const docsFolder: string = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The pages of Pulumi's registry. The registry renders them with another tool, and has its own syntax for language
 * tabs.
 */
export const REGISTRY_PAGES: readonly string[] = ["_index.md", "installation-configuration.md"];

/** The API reference, which typedoc generates at each build. */
export const API_FOLDER = "reference/api";

export interface Page {
  /** The path below `docs/`, with `/` as separator. */
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
  { folder: "how-to", title: "How-to guides" },
  { folder: "reference", title: "Reference" },
  { folder: "explanation", title: "Explanation" },
  { folder: "decisions", title: "Decisions" },
];

interface Group {
  readonly title: string;
  /** The pages and subdirectories, in the order of the sidebar. */
  readonly names: readonly string[];
}

/** The groups of the larger directories. Each page is in one group. */
const GROUPS: Readonly<Record<string, readonly Group[]>> = {
  "how-to": [
    {
      title: "Entries and VIPs",
      names: [
        "block-a-sender",
        "block-a-sender-temporarily",
        "accept-a-risky-entry",
        "find-where-a-value-is-allowed",
        "find-out-why-a-sender-is-allowed",
        "import-a-spreadsheet",
        "migrate-entries-to-a-list",
      ],
    },
    { title: "Existing tenants", names: ["adopt-an-existing-tenant", "import-with-pulumi-import"] },
    {
      title: "Directories and feeds",
      names: [
        "follow-an-entra-group",
        "follow-a-google-group",
        "follow-an-ldap-group",
        "follow-a-threat-feed",
        "schedule-syncs",
      ],
    },
    {
      title: "Review and policies",
      names: [
        "enforce-a-reviewed-plan",
        "write-team-policies",
        "audit-approvals",
        "review-existing-entries",
        "run-a-monthly-review",
      ],
    },
    {
      title: "Drift and operations",
      names: [
        "detect-drift",
        "schedule-nightly-reconciliation",
        "recover-an-interrupted-run",
        "rotate-an-api-key",
        "run-behind-a-proxy",
      ],
    },
    {
      title: "Many tenants",
      names: [
        "roll-out-to-many-tenants",
        "roll-back-a-rollout",
        "view-rollout-history",
        "add-or-remove-a-tenant",
        "rename-a-tenant",
        "check-fleet-status",
        "publish-a-fleet-site",
        "manage-several-tenants-in-one-program",
        "run-workers-on-kubernetes",
        "send-rollout-events-to-a-collector",
      ],
    },
    {
      title: "Languages and integrations",
      names: [
        "use-other-languages",
        "install-the-native-plugin",
        "migrate-to-the-native-plugin",
        "use-mail-data-in-a-program",
        "use-a-directory-group-in-a-program",
        "use-the-sandbox",
      ],
    },
  ],
  reference: [
    {
      title: "Resources and functions",
      names: ["resources", "resource-options", "functions", "configuration", "native-plugin", "versions", "api"],
    },
    { title: "Files", names: ["settings-file", "policy", "tenants-file", "schemas"] },
    {
      title: "Commands and reports",
      names: ["cli", "plan-output", "rollouts", "findings", "risk", "environment", "exit-codes", "errors"],
    },
    { title: "Service and client", names: ["responses", "client", "sandbox", "assumptions"] },
    { title: "Guarantees and performance", names: ["promises", "speed", "pulumi-internals"] },
  ],
};

/** The sidebar titles of directories without a first page. */
const FOLDER_TITLES: Readonly<Record<string, string>> = { cli: "Command line", errors: "Errors" };

/** Returns all pages of a directory, including its subdirectories. */
export function pagesIn(folder: string): Page[] {
  return markdownFiles(join(docsFolder, folder)).map((file) => readPage(file));
}

/** Returns the path of a page on the site. */
export function linkTo(page: Page): string {
  return `/${page.path.replace(/\.md$/, "").replace(/(^|\/)index$/, "$1")}`;
}

/** Builds the sidebar. The API reference has a separate one, because it doubles the number of pages. */
export function sidebar(): DefaultTheme.SidebarMulti {
  const all = KINDS.flatMap(({ folder, title }) => {
    const items = itemsIn(folder);
    const first = getFirstPage(folder);
    const link = first === undefined ? {} : { link: linkTo(first) };
    return items.length > 0 ? [{ text: title, ...link, items }] : [];
  });
  return {
    [`/${API_FOLDER}/`]: [{ text: "API reference", link: `/${API_FOLDER}/`, items: modules() }],
    "/": all,
  };
}

/** Lists the pages of a directory in Markdown by their groups. Of a subdirectory, it lists the first page. */
export function pageList(folder: string, from: string): string {
  const toLine = ({ path, title }: Page): string =>
    `- [${title}](${relative(dirname(from), path).split(sep).join("/")})`;
  const firsts = foldersIn(folder)
    .map((name) => `${folder}/${name}`)
    .filter((candidate) => candidate !== API_FOLDER)
    .flatMap((item) => getFirstPage(item) ?? []);
  const pages = [...sortedPages(folder), ...firsts];
  const groups = groupByTitle(folder, pages, ({ path }) => getName(folder, path));
  if (groups === undefined) return pages.map(toLine).join("\n");
  return groups.map(({ title, items }) => `**${title}**\n\n${items.map(toLine).join("\n")}`).join("\n\n");
}

/**
 * Sorts items into the groups of their directory. Undefined if the directory has no groups.
 *
 * @throws {Error} if an item is in no group.
 */
function groupByTitle<T>(
  folder: string,
  items: readonly T[],
  nameOf: (item: T) => string,
): { readonly title: string; readonly items: readonly T[] }[] | undefined {
  const groups = GROUPS[folder];
  if (groups === undefined) return undefined;
  const byName = new Map(items.map((item) => [nameOf(item), item]));
  const grouped = groups.map(({ title, names }) => ({
    title,
    items: names.flatMap((name) => {
      const item = byName.get(name);
      byName.delete(name);
      return item === undefined ? [] : [item];
    }),
  }));
  if (byName.size > 0) throw new Error(`Add ${[...byName.keys()].join(", ")} to a group of ${folder} in pages.mts.`);
  return grouped;
}

/** Returns the name of a page or of the subdirectory that it is in. */
function getName(folder: string, path: string): string {
  return path.slice(folder.length + 1).replace(/\.md$|\/.*$/g, "");
}

/** Lists the pages of the modules that a program can import. */
function modules(): DefaultTheme.SidebarItem[] {
  return pagesIn(API_FOLDER)
    .filter(({ path }) => path !== `${API_FOLDER}/index.md`)
    .map((page) => ({ text: page.title, link: linkTo(page) }));
}

function itemsIn(folder: string): DefaultTheme.SidebarItem[] {
  const pages = sortedPages(folder).map((page) => ({
    name: getName(folder, page.path),
    item: { text: page.title, link: linkTo(page) },
  }));
  const folders = foldersIn(folder).flatMap((name) => {
    const item = folderItem(`${folder}/${name}`, name);
    return item === undefined ? [] : [{ name, item }];
  });
  const all = [...pages, ...folders];
  const groups = groupByTitle(folder, all, ({ name }) => name);
  if (groups === undefined) return all.map(({ item }) => item);
  return groups.map(({ title, items }) => ({ text: title, items: items.map(({ item }) => item) }));
}

/** Builds the item of a subdirectory: collapsed, and a link if it has a first page. */
function folderItem(folder: string, name: string): DefaultTheme.SidebarItem | undefined {
  if (folder === API_FOLDER) return { text: "API reference", link: `/${API_FOLDER}/` };
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

/**
 * Returns the pages directly in a directory except its first page, sorted by `order` in their front matter, then by
 * title.
 */
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

/** Removes the Markdown syntax from a heading. */
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

/** Returns the entries of a directory; none if it doesn't exist. */
function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
