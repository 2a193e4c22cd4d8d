/**
 * The permitted imports between directories. Imports point one way:
 *
 *   commands → cli → fleet → rollout → gitops → sources → plan → files → resources → tenant → client
 *
 * From rollout, fleet imports only what identifies tenants, reads them and sends notices, because it changes none.
 *
 * No two directories import each other, at any depth.
 *
 * Every directory may import settings (vocabulary), machine (files and processes) and render (safe text, Markdown and HTML), which import
 * none of the others. engine and sandbox are outside these layers.
 */

const layers = [
  "commands",
  "cli",
  "fleet",
  "rollout",
  "gitops",
  "sources",
  "plan",
  "files",
  "resources",
  "tenant",
  "client",
];

/** @param {string[]} directories */
const inside = (directories) => `^provider/(${directories.join("|")})/`;

/** The rules for the layers: a directory must not import those before it. */
const importDirectionRules = layers.slice(1).map((directory, index) => ({
  name: `${directory}-imports-no-${layers[index]}`,
  comment: `Imports point one way: ${layers.join(" → ")}`,
  severity: "error",
  from: { path: inside([directory]) },
  to: { path: inside(layers.slice(0, index + 1)) },
}));

/** The files that load optional peers, which few users have. */
const optionalPeerFiles = `^provider/rollout/(${[
  "database/postgres-(connection|database|lock|session)",
  "queue/(leases|pg-boss|pg-boss-queue|pg-boss-worker)",
].join("|")})[.]ts$`;

/** The files that start child processes. Each sets their environment: `minimalEnv`, or what a team's own program may see. */
const processStarterFiles = `^provider/(${[
  "engine/run-command",
  "gitops/git",
  "plan/pulumi-cli",
  "rollout/engine/engine-(pool|command)",
  "rollout/execution/wave-health",
  "rollout/planning/revision-files",
  "rollout/rollback/git-revert-advice",
  "rollout/targets/read-key",
].join("|")})[.]ts$`;

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...importDirectionRules,
    {
      name: "fleet-reads-tenants",
      comment:
        "Who they are, the limits of their addresses, how they are asked, what the journal says of them, in whose words, what to type next, and who is told; how rollouts run is none of its business",
      severity: "error",
      from: { path: inside(["fleet"]) },
      to: {
        path: inside(["rollout"]),
        pathNot:
          "^provider/rollout/((database|history|model|probing|rate-limit|targets)/|notify/(notice|notifier|receivers)[.]ts$|(journal/(last-applied|rollout-order|rollout-record)|planning/renamed-tenant|report/(skipped-tenants|state-labels|rollout-report-view|wave-times))[.]ts$)",
      },
    },
    {
      name: "no-cycles",
      comment: "Two files that need each other are one thing, or lack a third",
      severity: "error",
      from: { path: "^(provider|scripts|examples)/" },
      to: { circular: true },
    },
    {
      name: "no-directory-cycles",
      comment: "Of two directories, one is built on the other",
      severity: "error",
      scope: "folder",
      from: { path: "^provider/" },
      to: { circular: true },
    },
    {
      name: "settings-imports-nothing-of-ours",
      comment: "The vocabulary is pure, so that everyone may import it",
      severity: "error",
      from: { path: inside(["settings"]) },
      // What the package says of itself is no part of it.
      to: { path: "^provider/", pathNot: [inside(["settings"]), "^provider/package[.]json$"] },
    },
    {
      name: "machine-imports-nothing-of-ours",
      comment: "Files, folders and processes, whatever they are for",
      severity: "error",
      from: { path: inside(["machine"]) },
      to: { path: "^provider/", pathNot: inside(["machine"]) },
    },
    {
      name: "render-imports-only-settings",
      comment: "Safe text, Markdown and HTML, whatever they show",
      severity: "error",
      from: { path: inside(["render"]) },
      to: { path: "^provider/", pathNot: inside(["render", "settings"]) },
    },
    {
      name: "engine-imports-only-settings-and-machine",
      comment: "Finding the Pulumi CLI has to do with nothing else",
      severity: "error",
      from: { path: inside(["engine"]) },
      to: { path: "^provider/", pathNot: inside(["engine", "machine", "settings"]) },
    },
    {
      name: "sandbox-shares-only-types",
      comment: "A bug that the service and its clients share would be seen by no test",
      severity: "error",
      from: { path: inside(["sandbox"]) },
      to: {
        path: "^provider/",
        pathNot: inside(["sandbox"]),
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "product-imports-no-sandbox",
      comment: "The product doesn't need the service that stands in for the real one",
      severity: "error",
      from: { path: "^provider/[^/]+/", pathNot: inside(["sandbox", "commands"]) },
      to: { path: inside(["sandbox"]) },
    },
    {
      name: "plugin-is-a-front-of-the-resources",
      comment: "It stands beside gitops, over the same core as the dynamic resources, and nobody needs it",
      severity: "error",
      from: { path: inside(["plugin"]) },
      to: {
        path: inside(["commands", "cli", "fleet", "rollout", "gitops", "sources", "plan", "files", "sandbox"]),
        // What settings files declare, for either front.
        pathNot: "^provider/plan/declared-list-arguments[.]ts$",
      },
    },
    {
      name: "product-imports-no-plugin",
      comment: "The plugin is a program of its own",
      severity: "error",
      from: { path: "^provider/[^/]+/", pathNot: inside(["plugin"]) },
      to: { path: inside(["plugin"]) },
    },
    {
      name: "optional-packages-have-their-places",
      comment: "Whoever does without them would else find out in the midst of something",
      severity: "error",
      from: { path: "^provider/", pathNot: optionalPeerFiles },
      to: { path: "node_modules/(pg|pg-boss)/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "optional-packages-are-loaded-when-asked-for",
      comment: "An import that is no `await import` would load them for everybody",
      severity: "error",
      from: { path: "^provider/", pathNot: optionalPeerFiles },
      to: { path: optionalPeerFiles, dynamic: false, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "child-processes-have-their-places",
      comment:
        "A child inherits every tenant's key, unless somebody decides its environment: provider/machine/child-environment.ts",
      severity: "error",
      from: { path: "^provider/", pathNot: processStarterFiles },
      to: { path: "^(node:)?child_process$" },
    },
    {
      name: "product-imports-no-test",
      comment: "What is published can't need what isn't",
      severity: "error",
      from: { path: "^provider/" },
      to: { path: "^(test|scripts|examples)/" },
    },
    {
      name: "scripts-and-examples-use-the-package",
      comment: "They import what a user can: the package by its name, not its files",
      severity: "error",
      from: { path: "^(scripts|examples)/" },
      to: { path: "^provider/", pathNot: "^provider/(dist/|engine/lock[.]js$)" },
    },
    {
      name: "resolvable",
      severity: "error",
      from: { path: "^(provider|scripts|examples)/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ["node_modules", "^provider/dist/"] },
    exclude: { path: ["^provider/dist/.*[.]d[.]ts$"] },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
      extensions: [".ts", ".mts", ".js", ".mjs", ".cjs", ".json"],
    },
  },
};
