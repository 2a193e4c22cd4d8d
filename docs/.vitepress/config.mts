import { slug } from "github-slugger";
import { defineConfig } from "vitepress";
import { addRules } from "./markdown.mts";
import { API_DIRECTORY, REGISTRY_PAGES, sidebar } from "./pages.mts";

export default defineConfig({
  title: "pulumi-email-security",
  description: "Manage the VIP employees and the allow/deny list of an email-security service as code",
  lang: "en-GB",
  srcExclude: [...REGISTRY_PAGES],
  cacheDir: "../node_modules/.cache/vitepress",
  outDir: "../dist/docs",
  ignoreDeadLinks: false,
  markdown: {
    // The default themes have too little contrast on this background.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // Use GitHub's anchors, so that links to headings work there too.
    anchor: { slugify: (heading) => slug(heading) },
    config: addRules,
  },
  themeConfig: {
    nav: [
      { text: "Home", link: "/" },
      { text: "API reference", link: `/${API_DIRECTORY}/` },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        miniSearch: {
          options: { tokenize },
          searchOptions: {
            // Rank titles above text, how-to guides above other pages, and decisions and the API reference last.
            boost: { title: 6, titles: 2, text: 1 },
            boostDocument: (id: string) => {
              if (id.includes("/reference/api/")) return 0.2;
              if (id.includes("/decisions/")) return 0.5;
              return id.includes("/how-to/") ? 2 : 1;
            },
          },
        },
      },
    },
  },
});

/**
 * Splits a text into words, and joins adjacent words of a title: "rollback" finds "Roll back". It runs in the browser,
 * so it must be self-contained.
 */
function tokenize(text: string, field?: string): string[] {
  const words = text.split(/[\n\r\p{Z}\p{P}]+/u);
  const pairs = words.slice(1).map((word, index) => `${words[index]}${word}`);
  return field === "title" ? [...words, ...pairs] : words;
}
