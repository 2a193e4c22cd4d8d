import { existsSync, statSync } from "node:fs";
import { posix } from "node:path";
import GithubSlugger from "github-slugger";
import MarkdownIt, { type Token } from "markdown-it";
import type { DefaultTheme } from "vitepress";
import { describe, expect, it } from "vitest";
import { linkTo, pagesIn, REGISTRY_PAGES, sidebar } from "../../docs/.vitepress/pages.mts";
import { listMarkdownFiles, type MarkdownFile } from "./markdown-files";

const files = listMarkdownFiles();
/** A file of the repository, in backticks. */
const NAMED = /`((?:test|provider|examples|scripts|sdk)\/[\w/.-]+\.[a-z]+)`/g;

const markdown = new MarkdownIt({ html: true });

/** Returns a file's tokens without its front matter. Line numbers are preserved. */
function parseTokens({ text }: MarkdownFile): Token[] {
  const body = text.replace(/^---\n.*?^---$/ms, (matter) =>
    text.startsWith(matter) ? matter.replace(/[^\n]/g, "") : matter,
  );
  return markdown.parse(body, {});
}

/** Returns the anchors of a file: its headings, as GitHub and the site name them, and its own HTML anchors. */
function listAnchors(file: MarkdownFile): Set<string> {
  const tokens = parseTokens(file);
  const slugger = new GithubSlugger();
  const headings = tokens.flatMap(({ type }, index) => {
    const text = (tokens[index + 1]?.children ?? [])
      .filter((child) => child.type === "text" || child.type === "code_inline")
      .map(({ content }) => content)
      .join("");
    return type === "heading_open" ? [slugger.slug(text)] : [];
  });
  const own = [...file.text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, name = ""]) => name);
  return new Set([...headings, ...own]);
}

/** Returns a file's links to other places in the repository. */
function listLinks(file: MarkdownFile): { line: number; href: string }[] {
  return parseTokens(file).flatMap((token) => {
    const { children, map } = token;
    return [token, ...(children ?? [])]
      .flatMap((child) =>
        [child.attrGet("href") ?? child.attrGet("src") ?? [], extractHtmlTargets(child)].flat().map(String),
      )
      .filter((href) => !/^[a-z][a-z\d+.-]*:/i.test(href))
      .map((href) => ({ line: (map?.[0] ?? 0) + 1, href }));
  });
}

/** Returns the targets of links and images in a piece of HTML. */
function extractHtmlTargets({ type, content }: Token): string[] {
  if (!type.startsWith("html_")) return [];
  return [...content.matchAll(/\s(?:href|src)\s*=\s*["']([^"']+)["']/gi)].map(([, href = ""]) => href);
}

describe("link in the docs", () => {
  const anchors = new Map(files.map((file) => [file.path, listAnchors(file)]));

  it("leads to an existing file and heading", () => {
    const dead = files.flatMap((file) =>
      listLinks(file)
        .filter(({ href }) => !isThere(file.path, href))
        .map(({ line, href }) => `${file.path}:${line}: ${href}`),
    );
    expect(dead).toEqual([]);
  });

  it("is relative", () => {
    const absolute = files.flatMap((file) =>
      listLinks(file)
        .filter(({ href }) => href.startsWith("/"))
        .map(({ line, href }) => `${file.path}:${line}: ${href}`),
    );
    expect(absolute).toEqual([]);
  });

  function isThere(from: string, href: string): boolean {
    const [path = "", anchor] = decodeURI(href).split("#");
    const target = path === "" ? from : posix.join(posix.dirname(from), path);
    // typedoc generates these pages at each build, which fails if one of their links is dead.
    if (target.startsWith("docs/reference/api/")) return true;
    // On these pages, links follow the registry's URLs and end with a slash.
    if (REGISTRY_PAGES.some((name) => `docs/${name}` === from) && target.endsWith("/")) {
      return existsSync(`${target.slice(0, -1)}.md`);
    }
    if (!existsSync(target)) return false;
    if (from.startsWith("docs/") && target.startsWith("docs/") && statSync(target).isDirectory()) return false;
    return anchor === undefined || (anchors.get(target)?.has(anchor) ?? false);
  }
});

describe("page of the docs", () => {
  const pages = pagesIn("").filter(({ path }) => !REGISTRY_PAGES.includes(path) && !path.startsWith("reference/api/"));

  it("appears in the sidebar unless it is the home page", () => {
    const linked = new Set(
      Object.values(sidebar()).flatMap((items) => listSidebarLinks(items as DefaultTheme.SidebarItem[])),
    );
    const orphans = pages.filter((page) => page.path !== "index.md" && !linked.has(linkTo(page)));
    expect(orphans.map(({ path }) => path)).toEqual([]);
  });

  it("has exactly one title of its own", () => {
    const titles = new Map<string, string[]>();
    const wrong: string[] = [];
    for (const file of files.filter(({ path }) => pages.some((page) => `docs/${page.path}` === path))) {
      const tokens = parseTokens(file);
      const matches = tokens.flatMap(({ type, tag }, index) =>
        type === "heading_open" && tag === "h1" ? [tokens[index + 1]?.content ?? ""] : [],
      );
      if (matches.length !== 1) wrong.push(`${file.path}: ${matches.length} titles`);
      for (const title of matches) titles.set(title, [...(titles.get(title) ?? []), file.path]);
    }
    const twice = [...titles].filter(([, paths]) => paths.length > 1);
    expect([...wrong, ...twice.map(([title, paths]) => `${title}: ${paths.join(", ")}`)]).toEqual([]);
  });
});

function listSidebarLinks(items: readonly DefaultTheme.SidebarItem[]): string[] {
  return items.flatMap(({ link, items: below = [] }) => [
    ...(link === undefined ? [] : [link]),
    ...listSidebarLinks(below),
  ]);
}

it("names only existing repository files", () => {
  const named = files
    // The changelog names files that no longer exist.
    .filter(({ path }) => path !== "CHANGELOG.md")
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) =>
        [...line.matchAll(NAMED)].map(([, name = ""]) => ({
          location: `${path}:${index + 1}: ${name}`,
          name,
        })),
      ),
    );
  expect(named.filter(({ name }) => name.startsWith("test/")).length).toBeGreaterThan(10);
  expect(named.filter(({ name }) => !existsSync(name)).map(({ location }) => location)).toEqual([]);
});
