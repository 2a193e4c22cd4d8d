import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getCacheDirectory } from "pulumi-email-security/engine";
import { areCommandsStopped, type CompletedCommand, run } from "#bench/command";
import { buildBenchEntries } from "#bench/entries";
import { countRequests } from "#bench/measure-operations";
import { type Bench, computeStatePerEntry, type Operation, type Peer, type StateSize } from "#bench/measurement";
import { API_KEY, BenchService } from "#bench/service";

/** Both programs are built from Go modules. Each has a directory with a go.mod that pins all of its dependencies. */
const CLI = { directory: "cli", package: "github.com/hashicorp/terraform" };
const PROVIDER = { directory: "restapi", package: "github.com/Mastercard/terraform-provider-restapi" };

/**
 * Terraform with the generic REST provider, one resource per entry. The provider needs to read single entries, which
 * the service doesn't offer, so the sandbox adds that endpoint.
 */
export const terraform: Peer = {
  name: "terraform",
  title: "Terraform 1.11 with Mastercard/restapi 1.20",
  isSlow: true,
  async measure(bench) {
    const count = bench.singleEntries;
    const programs = await obtainPrograms(bench);
    await using service = await BenchService.start({ readOne: true });
    await using project = await TerraformProject.create(programs, service, count);
    const recordTerraform = async (operation: Operation, ...args: string[]): Promise<void> => {
      const { seconds, requests } = await countRequests(service, () => project.run(...args));
      bench.record({ operation, count, variant: `\`terraform ${args[0]}\``, seconds, requests });
    };
    await recordTerraform("first up", "apply", "-auto-approve");
    await recordTerraform("no-op up", "plan", "-detailed-exitcode");
    await recordTerraform("refresh", "refresh");
    bench.record({
      operation: "state",
      count,
      stateAnEntry: computeStatePerEntry(await project.measureState(), count, await measureSingleEntryState(programs)),
    });
  },
};

interface Programs {
  readonly cli: string;
  readonly provider: string;
}

async function measureSingleEntryState(programs: Programs): Promise<StateSize> {
  await using service = await BenchService.start({ readOne: true });
  await using project = await TerraformProject.create(programs, service, 1);
  await project.run("apply", "-auto-approve");
  return await project.measureState();
}

class TerraformProject implements AsyncDisposable {
  readonly #directory: string;
  readonly #cli: string;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(directory: string, cli: string, environment: NodeJS.ProcessEnv) {
    this.#directory = directory;
    this.#cli = cli;
    this.#environment = environment;
  }

  static async create({ cli, provider }: Programs, service: BenchService, count: number): Promise<TerraformProject> {
    const directory = await mkdtemp(join(tmpdir(), "email-security-bench-"));
    const settings = join(directory, "settings.tfrc");
    // A provider from a local directory doesn't need `terraform init`, and therefore no registry.
    const overrides = `dev_overrides { "Mastercard/restapi" = ${JSON.stringify(join(provider, ".."))} }`;
    await writeFile(settings, `disable_checkpoint = true\nprovider_installation {\n${overrides}\ndirect {}\n}\n`);
    await writeFile(join(directory, "main.tf"), formatConfiguration(service.url));
    await writeFile(join(directory, "entries.json"), JSON.stringify(buildBenchEntries(count)));
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("TF_"));
    return new TerraformProject(directory, cli, { ...Object.fromEntries(own), TF_CLI_CONFIG_FILE: settings });
  }

  async run(...args: string[]): Promise<CompletedCommand> {
    return await run(this.#cli, [...args, "-no-color", "-input=false"], {
      cwd: this.#directory,
      env: this.#environment,
    });
  }

  async measureState(): Promise<StateSize> {
    const text = await readFile(join(this.#directory, "terraform.tfstate"), "utf8");
    return {
      compactBytes: Buffer.byteLength(JSON.stringify(JSON.parse(text))),
      fileBytes: Buffer.byteLength(text),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

function formatConfiguration(url: string): string {
  return `
terraform {
  required_providers {
    restapi = { source = "Mastercard/restapi" }
  }
}

provider "restapi" {
  uri                  = "${url}"
  headers              = { "X-Api-Key" = "${API_KEY}", "Content-Type" = "application/json" }
  id_attribute         = "results/id"
  update_method        = "PATCH"
  write_returns_object = true
}

# Terraform evaluates for_each anew for every instance; a local it reads once.
locals {
  entries = { for entry in jsondecode(file("entries.json")) : entry.value => entry }
}

resource "restapi_object" "entry" {
  for_each = local.entries
  path     = "/api/v1/settings/allow_deny_entries"
  data     = jsonencode({
    list       = each.value.list
    entry_type = "domain"
    value      = each.value.value
    comment    = each.value.comment
  })
}
`;
}

/**
 * Returns both programs from the user's cache directory, and builds them first if they are missing. Throws if there is
 * no Go toolchain or no module proxy.
 */
async function obtainPrograms(bench: Bench): Promise<Programs> {
  try {
    return { cli: await buildProgramFromSource(bench, CLI), provider: await buildProgramFromSource(bench, PROVIDER) };
  } catch (cause) {
    if (areCommandsStopped()) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`error: it can't be built from its Go modules here: ${reason.replaceAll("\n", " ")}`, {
      cause,
    });
  }
}

async function buildProgramFromSource(bench: Bench, program: typeof CLI): Promise<string> {
  const source = fileURLToPath(new URL(`terraform/${program.directory}/`, import.meta.url));
  const pins = await readFile(join(source, "go.mod"), "utf8");
  const version = new RegExp(`^\\s*(?:require )?${program.package} v(\\S+)`, "m").exec(pins)?.[1];
  const name = `${program.package.split("/").at(-1)}${process.platform === "win32" ? ".exe" : ""}`;
  const directory = join(getCacheDirectory(), "bench", `${name}-${version}-${process.platform}-${process.arch}`);
  const built = join(directory, name);
  if (existsSync(built)) return built;

  bench.log(`building ${name} ${version} from its Go modules, which takes minutes, once`);
  const unfinished = join(directory, `unfinished-${process.pid}`);
  await mkdir(directory, { recursive: true });
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false"];
  const linked = "-s -w -X github.com/hashicorp/terraform/version.dev=no";
  await run("go", ["build", ...flags, "-ldflags", linked, "-o", unfinished, program.package], {
    cwd: source,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" },
  });
  await rename(unfinished, built);
  return built;
}
