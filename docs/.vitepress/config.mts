import { slug } from "github-slugger";
import { defineConfig } from "vitepress";
import { addRules } from "./markdown.mts";
import { API_FOLDER, REGISTRY_PAGES, sidebar } from "./pages.mts";

export default defineConfig({
  title: "pulumi-email-security",
  description: "A tenant's VIP employees and allow/deny list, kept in code",
  lang: "en-GB",
  srcExclude: [...REGISTRY_PAGES],
  cacheDir: "../node_modules/.cache/vitepress",
  outDir: "../dist/docs",
  ignoreDeadLinks: false,
  markdown: {
    // With enough contrast on the theme's own ground.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // A link to a heading leads there on GitHub as well.
    anchor: { slugify: (heading) => slug(heading) },
    config: addRules,
  },
  themeConfig: {
    nav: [
      { text: "Begin", link: "/" },
      { text: "Types", link: `/${API_FOLDER}/` },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        miniSearch: {
          options: { tokenize },
          searchOptions: {
            // Titles before text. How-to pages before the others, and these before decisions and the types of the package.
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

/** The words of a text; of a heading also each two as one: "rollback" finds "Roll back". Runs in the browser, by itself. */
function tokenize(text: string, field?: string): string[] {
  const words = text.split(/[\n\r\p{Z}\p{P}]+/u);
  const pairs = words.slice(1).map((word, index) => `${words[index]}${word}`);
  return field === "title" ? [...words, ...pairs] : words;
}
