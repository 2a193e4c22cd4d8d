/**
 * The permitted imports between directories. Imports point one way:
 *
 *   commands → cli → fleet → rollout → gitops → sources → plan → settings-files → resources → tenant → client
 *
 * From rollout, fleet imports only what identifies tenants, reads them and sends notices, because it changes none.
 *
 * No two directories import each other, at any depth.
 *
 * Every directory may import model (values, arguments, risks), system (files and processes) and render (safe text, Markdown and HTML), which import
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
  "settings-files",
  "resources",
  "tenant",
  "client",
];

/** @param {string[]} directories */
const inside = (directories) => `^provider/(${directories.join("|")})/`;

/** The directories of the rollout, the highest layer first. */
const rolloutLayers = [
  ...[
    "execution",
    "tenants",
    "history",
    "rollback",
    "skipping",
    "plan-report",
    "planning",
    "notify",
    "progress",
    "report",
  ],
  ...["locks", "stack", "engine", "journal", "queue", "rate-limit", "database", "probing", "targets", "model"],
];

/** @param {string[]} directories */
const insideRollout = (directories) => inside(directories.map((directory) => `rollout/${directory}`));

const rolloutDirectionRules = rolloutLayers.slice(1).map((directory, index) => ({
  name: `rollout-${directory}-imports-no-${rolloutLayers[index]}`,
  comment: `Imports of the rollout point one way: ${rolloutLayers.join(" → ")}`,
  severity: "error",
  from: { path: insideRollout([directory]) },
  to: { path: insideRollout(rolloutLayers.slice(0, index + 1)) },
}));

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

/** The files that start child processes. Each sets their environment: `minimalEnv`, or a reduced one for a team's own program. */
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
    ...rolloutDirectionRules,
    {
      name: "fleet-reads-tenants",
      comment:
        "fleet may import the tenants, their rate limits and probes, the journal, its labels, and notices, but not the execution of rollouts",
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
      comment: "Merge two files that import each other, or move the shared part to a third",
      severity: "error",
      from: { path: "^(provider|scripts|examples)/" },
      to: { circular: true },
    },
    {
      name: "no-directory-cycles",
      comment: "Directories form layers: only one of two directories may import the other",
      severity: "error",
      scope: "folder",
      from: { path: "^provider/" },
      to: { circular: true },
    },
    {
      name: "model-imports-no-other-directory",
      comment: "model has no side effects, so that every directory may import it",
      severity: "error",
      from: { path: inside(["model"]) },
      // Except the package's own name and version.
      to: { path: "^provider/", pathNot: [inside(["model"]), "^provider/package[.]json$"] },
    },
    {
      name: "system-imports-no-other-directory",
      comment: "This code handles files, directories and processes for any purpose",
      severity: "error",
      from: { path: inside(["system"]) },
      to: { path: "^provider/", pathNot: inside(["system"]) },
    },
    {
      name: "render-imports-only-model",
      comment: "This code renders safe text, Markdown and HTML for any content",
      severity: "error",
      from: { path: inside(["render"]) },
      to: { path: "^provider/", pathNot: inside(["model", "render"]) },
    },
    {
      name: "engine-imports-only-model-and-system",
      comment: "The search for the Pulumi CLI is independent of other code",
      severity: "error",
      from: { path: inside(["engine"]) },
      to: { path: "^provider/", pathNot: inside(["model", "engine", "system"]) },
    },
    {
      name: "sandbox-shares-only-types",
      comment: "Tests can't detect a bug that the service and its clients share",
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
      comment: "The product doesn't need the fake service",
      severity: "error",
      from: { path: "^provider/[^/]+/", pathNot: inside(["sandbox", "commands"]) },
      to: { path: inside(["sandbox"]) },
    },
    {
      name: "plugin-adapts-the-resources",
      comment: "The plugin only adapts the core that the dynamic resources also use",
      severity: "error",
      from: { path: inside(["plugin"]) },
      to: {
        path: inside(["commands", "cli", "fleet", "rollout", "gitops", "sources", "plan", "settings-files", "sandbox"]),
        // Both providers read the lists that settings files declare.
        pathNot: "^provider/plan/declared-list-arguments[.]ts$",
      },
    },
    {
      name: "product-imports-no-plugin",
      comment: "The plugin is a separate program",
      severity: "error",
      from: { path: "^provider/[^/]+/", pathNot: inside(["plugin"]) },
      to: { path: inside(["plugin"]) },
    },
    {
      name: "optional-packages-only-in-listed-files",
      comment: "Elsewhere, a missing optional package would only show in the middle of a run",
      severity: "error",
      from: { path: "^provider/", pathNot: optionalPeerFiles },
      to: { path: "node_modules/(pg|pg-boss)/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "optional-packages-are-loaded-on-demand",
      comment: "Any import other than `await import` would load them for all users",
      severity: "error",
      from: { path: "^provider/", pathNot: optionalPeerFiles },
      to: { path: optionalPeerFiles, dynamic: false, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "child-processes-only-in-listed-files",
      comment:
        "A child process would inherit every tenant's key. Set its environment: provider/system/child-environment.ts",
      severity: "error",
      from: { path: "^provider/", pathNot: processStarterFiles },
      to: { path: "^(node:)?child_process$" },
    },
    {
      name: "product-imports-no-test",
      comment: "Published code can't import unpublished code",
      severity: "error",
      from: { path: "^provider/" },
      to: { path: "^(test|scripts|examples)/" },
    },
    {
      name: "scripts-and-examples-use-the-package",
      comment: "They import the package by its name, like a user, and not its files",
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
