import { quoteShellWord } from "../../model/shell-word";

export interface NestedLocation {
  /** The directory relative to the repository, such as `infra/mail`. */
  readonly directory: string;
  readonly name: string;
}

/** Matches a directory that is safe in pipelines, filters and shell commands: none of them expands a character in it. */
export const NESTED_DIRECTORY_PATTERN = /^[\p{L}\p{N}\p{M} ._@=,~/-]+$/u;

/** Adapts a template's file to a larger repository; `path` is its path there. */
export function adaptToSubdirectory(
  path: string,
  text: string,
  location: NestedLocation,
): [path: string, text: string] {
  const { directory } = location;
  const id = getPipelineId(location);
  const workflow = /^\.github\/workflows\/(.*)$/.exec(path)?.[1];
  if (workflow !== undefined) return [`.github/workflows/${id}-${workflow}`, nestWorkflow(text, workflow, location)];
  switch (path) {
    case ".github/actions/prepare/action.yml":
      return [
        `.github/actions/${id}-prepare/action.yml`,
        text.replace(/^( +)shell: bash\n/gm, `$&$1working-directory: ${JSON.stringify(directory)}\n`),
      ];
    case ".gitlab-ci.yml":
      return [`${directory}/${path}`, nestGitLab(text, location)];
    case ".pre-commit-config.yaml":
      return [path, nestHook(text, location)];
    case "CODEOWNERS":
      return [path, nestOwners(text, directory)];
    case "README.md":
      return [`${directory}/${path}`, nestReadme(text, location)];
    default:
      return [`${directory}/${path}`, text];
  }
}

/** Returns the top-level GitLab file for a repository that has none yet. */
export function renderTopPipeline(location: NestedLocation): string {
  return `workflow:
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH

stages:
  - ${getPipelineId(location)}

include:
  - local: ${formatIncludePath(location)}
`;
}

/** Returns the lines to add to an existing top-level GitLab file. */
export function renderTopPipelineAdditions(location: NestedLocation): string[] {
  return [
    "stages: # after your own; without this key these are build, test and deploy",
    `  - ${getPipelineId(location)}`,
    "include:",
    `  - local: ${formatIncludePath(location)}`,
  ];
}

function formatIncludePath({ directory }: NestedLocation): string {
  return JSON.stringify(`/${directory}/.gitlab-ci.yml`);
}

/** Returns the prefix for names that the whole repository shares: workflows, jobs, environments, labels. */
function getPipelineId({ name }: NestedLocation): string {
  return `email-security-${name}`;
}

/** Adapts names in both hosts' pipelines that the whole repository shares: hashed settings, a branch, an issue, a comment. */
function nestShared(text: string, location: NestedLocation): string {
  const { name } = location;
  const title = `The tenant ${name} differs from`;
  return (
    text
      .replaceAll("HEAD:settings", "HEAD:./settings")
      // Replaces the branch only. The label and the artifact keep their names because an issue is found by its title.
      .replace(/(?<!label |label create |labels=|name: )email-security-drift/g, `${getPipelineId(location)}-drift`)
      .replaceAll("The tenant differs from", title)
      .replace(
        "--limit 1 --json number --jq '.[].number'",
        `--limit 100 --json number,title --jq 'map(select(.title == "${title} main"))[0].number // empty'`,
      )
      .replace("labels=email-security-drift&state=opened", "$&&per_page=100")
      .replace("[0]?.iid", `.find((issue) => issue.title === "${title} " + process.env.CI_DEFAULT_BRANCH)?.iid`)
      .replaceAll("<!-- email-security-plan -->", `<!-- email-security-plan ${name} -->`)
  );
}

/** Gives the plan's comment its own marker, so that tenants don't overwrite each other's comments. */
function formatMarkCommand({ name }: NestedLocation): string {
  return `sed -i '1s/ -->/ ${name} -->/' plan/comment.md`;
}

function nestWorkflow(text: string, file: string, location: NestedLocation): string {
  const { directory, name } = location;
  const id = getPipelineId(location);
  const shared = nestShared(text, location)
    .replace(/^((?: {4})?name: .*)$/gm, `$1 (${name})`)
    .replace(/^( +paths: )\["settings\/\*\*"\]$/gm, `$1[${JSON.stringify(`${directory}/settings/**`)}]`)
    .replace(/^( +group: )/gm, `$1${id}-`)
    .replace(/^( +environment: )/gm, `$1${id}-`)
    .replaceAll("./.github/actions/prepare", `./.github/actions/${id}-prepare`)
    .replace(/^( +)comment="/m, `$1${formatMarkCommand(location)}\n$&`);
  const jobs = shared.split(/^(?= {2}[\w-]+:\n {4}(?:#|name:))/m).map((job) => nestJob(job, directory));
  const nested = jobs.join("");
  return file === "pull-request.yml" ? addChangesJob(nested, location) : nested;
}

/** Runs a job in the tenant's directory if it runs the tenant's program. Other jobs have no checkout or use all of it. */
function nestJob(job: string, directory: string): string {
  if (!job.includes("npx --no ")) return job;
  const quoteNestedPath = (path: string): string => JSON.stringify(`${directory}/${path}`);
  return job
    .replace(
      /^ {4}runs-on: .*\n/m,
      `$&    defaults:\n      run:\n        working-directory: ${JSON.stringify(directory)}\n`,
    )
    .replace(/^( +(?:path|sarif_file): )(\S+)$/gm, (_, key: string, path: string) => `${key}${quoteNestedPath(path)}`)
    .replace("hashFiles('lint.sarif')", `hashFiles('${directory}/lint.sarif')`);
}

/** Limits checks of pull requests to those that change the tenant's directory or the workflows. */
function addChangesJob(workflow: string, { directory, name }: NestedLocation): string {
  const [checkout = ""] = /^ +- uses: actions\/checkout@.*\n/m.exec(workflow) ?? [];
  return workflow.replace(
    /^ {2}lint:\n( {4}name: .*\n)/m,
    `  # No path filter: a required check stays pending if its workflow doesn't run, but passes if its job is skipped.
  changes:
    name: Changes (${name})
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    permissions:
      contents: read
    outputs:
      own: \${{ steps.changes.outputs.own }}
    steps:
${checkout}        with:
          persist-credentials: false
          fetch-depth: 2

      # The checkout is the merge commit into main; its first parent is main.
      - name: Compare with main
        id: changes
        run: |
          set -euo pipefail
          git diff --quiet HEAD^1 HEAD -- ${quoteShellWord(directory)} .github || echo "own=yes" >> "$GITHUB_OUTPUT"

  lint:
$1    needs: changes
    if: \${{ needs.changes.outputs.own == 'yes' }}
`,
  );
}

/** Adapts a GitLab file that another file includes: it must not affect jobs of other files. */
function nestGitLab(text: string, location: NestedLocation): string {
  const { directory, name } = location;
  const id = getPipelineId(location);
  const enterCommand = `cd ${quoteShellWord(directory)}`;
  const quoteNestedPath = (path: string): string => JSON.stringify(`${directory}/${path}`);
  return nestShared(text, location)
    .replace(/^(?:workflow|variables):\n(?: .*\n)+\n/gm, "")
    .replace(/^stages: .*\n\n/m, "")
    .replace(/^ {2}stage: .*\n/gm, "")
    .replace(/^default:\n/m, `.${id}:\n  stage: ${id}\n  variables:\n    GIT_DEPTH: "0"\n`)
    .replace(/^\.tenant:\n/m, `.${id}-tenant:\n  extends: .${id}\n`)
    .replace(/^([a-z-]+):\n( {2}extends: .*\n)?/gm, (_, job: string, base: string | undefined) => {
      const needs = { plan: "lint", drift: "expire" }[job];
      return [
        `${id}-${job}:\n`,
        `  extends: .${id}${base === undefined ? "" : "-tenant"}\n`,
        needs === undefined ? "" : `  needs: [${needs}]\n`,
      ].join("");
    })
    .replace(/^( +needs: \[)([a-z-]+)\]$/gm, `$1${id}-$2]`)
    .replace(/^ {2}before_script: \[\]$/gm, "  before_script:")
    .replace(/^ {2}before_script:\n/gm, `$&    - ${enterCommand}\n`)
    .replace(
      /^ +- if: \$CI_PIPELINE_SOURCE == "merge_request_event".*\n/gm,
      `$&      changes: [${quoteNestedPath("**/*")}]\n`,
    )
    .replaceAll("changes: [settings/**/*]", `changes: [${quoteNestedPath("settings/**/*")}]`)
    .replace(/^( +paths: )\[([a-z]+\/)\]$/gm, (_, key: string, path: string) => `${key}[${quoteNestedPath(path)}]`)
    .replace(/^( +(?:resource_group|environment): | {2}environment:\n {4}name: )/gm, `$1${id}-`)
    .replace(/^( +)notes="/m, `$1${formatMarkCommand(location)}\n$&`)
    .replace(/^# The same for GitLab.*\n/, `# For the tenant ${name}, included by the .gitlab-ci.yml at the top.\n$&`);
}

function nestHook(text: string, { directory, name }: NestedLocation): string {
  const pattern = directory.replace(/[.]/g, "\\.");
  return text
    .replace(/^( +name: .*)$/m, `$1 (${name})`)
    .replace(/entry: (.*)$/m, (_, command: string) => `entry: sh -c "cd ${quoteShellWord(directory)} && ${command}"`)
    .replace("files: ^settings/", () => `files: ^${pattern}/settings/`);
}

/** Keeps the owners of pipelines and of this file at the top of the repository; moves the others to the directory. */
function nestOwners(text: string, directory: string): string {
  const prefix = `/${directory.replaceAll(" ", "\\ ")}`;
  return text
    .replace(/^\/(?!\.github\/|\.gitlab-ci\.yml|CODEOWNERS)/gm, () => `${prefix}/`)
    .replace(/^\/\.gitlab-ci\.yml( .*)$/m, (line, owners: string) => `${line}\n${prefix}/.gitlab-ci.yml${owners}`);
}

function nestReadme(text: string, location: NestedLocation): string {
  const { directory, name } = location;
  const id = getPipelineId(location);
  return text
    .replaceAll("HEAD:settings", "HEAD:./settings")
    .replace(/\*(Lint|Plan|Approvals|Apply|Merge|Drift|Expire|Review|Sync)\*/g, `*$1 (${name})*`)
    .replace(/\*(lint|plan|approvals|apply|approve|expire|drift|propose|review|sync)\*/g, `*${id}-$1*`)
    .replaceAll(".github/actions/prepare/", `.github/actions/${id}-prepare/`)
    .replaceAll(".github/workflows/", `.github/workflows/${id}-`)
    .replaceAll(":environment:", `:environment:${id}-`)
    .replace(/^### Git[\s\S]*?(?=^## )/m, (hosts) =>
      hosts.replace(/`(plan|production|production-approval|sources)`/g, `\`${id}-$1\``),
    )
    .replace(
      /^# .*\n\n/,
      (title) =>
        `${title}This is the directory \`${directory}\` of a larger repository. Run the commands below in it. GitHub, GitLab and pre-commit read their files
at the top of the repository: \`.github/\`, \`.gitlab-ci.yml\`, \`CODEOWNERS\` and \`.pre-commit-config.yaml\` are there. An editor reads
\`.vscode/\` when you open this directory.\n\n`,
    );
}
