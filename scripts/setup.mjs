// @ts-check
/**
 * Sets up everything that the npm scripts need: the dependencies, the built package, the Pulumi engine. Skips steps that are up
 * to date, so a second run takes a moment. This is plain JavaScript for Node.js 20, without dependencies, because it runs
 * first after a clone.
 *
 *   node scripts/setup.mjs [--no-engine | --build-only] [--then <script> [arguments]]
 *
 * --no-engine   skip the engine
 * --build-only  only build the package: npm runs this as `prepare`, after it has installed the dependencies
 * --then        run a script afterwards, with the Node.js that was set up, because the shell's own may be older
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import lock from "../provider/engine/lock.js";

const MINIMUM_NODE = [22, 19];
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const nodeModules = path.join(root, "node_modules");
const dist = path.join(root, "provider", "dist");
const pluginScripts = ["build-plugin.mts", "build-native-sdk.mts", "read-jsdoc.mts"].map((file) =>
  path.join("scripts", file),
);
/** Files that load their own modules on first use, because a program doesn't use most of the package. */
const lazyFiles = ["index.js", "resources/registration-preflight.js"];
const sdkDirectory = path.join("sdk", "nodejs");
const templateDirectory = path.join("examples", "gitops");
const isWindows = process.platform === "win32";

const ownArguments = process.argv.slice(2);
const followUp = ownArguments.includes("--then") ? ownArguments.splice(ownArguments.indexOf("--then")).slice(1) : [];
const buildOnly = ownArguments.includes("--build-only");
const installsEngine = !buildOnly && !ownArguments.includes("--no-engine");

// process.exit stops the child processes and releases the locks.
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.once(signal, () => process.exit(1));
}

try {
  await main();
} catch (error) {
  writeLogLine(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function main() {
  if (!buildOnly && !areDependenciesInstalled()) await runLocked("install", installDependencies);
  // `npm install --omit=dev` also runs this script, but installs no compiler.
  if (buildOnly && !fs.existsSync(getCompilerPath())) return;

  if (!isNewEnough(process.versions.node)) {
    process.exitCode = await run(findNewerNode(), process.argv.slice(1));
    return;
  }

  if (readBuildDigest() !== hashBuildInputs()) await runLocked("build", build);
  if (installsEngine) await prepareEngine();

  const [script, ...args] = followUp;
  if (script === undefined || process.exitCode) return;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(signal);
  process.argv.splice(1, Number.POSITIVE_INFINITY, path.resolve(root, script), ...args);
  await import(pathToFileURL(path.resolve(root, script)).href);
}

// Dependencies

/** Whether the installed packages match the lock file, according to npm's own record. */
function areDependenciesInstalled() {
  const lockedPackages = tryReadJson(path.join(root, "package-lock.json"))?.packages;
  const installed = tryReadJson(path.join(nodeModules, ".package-lock.json"))?.packages;
  if (!lockedPackages || !installed) return false;
  return Object.entries(lockedPackages).every(([name, { version, optional, devOptional, link }]) => {
    if (!name.includes("node_modules/")) return true;
    // npm doesn't install the packages of other platforms.
    if (!installed[name]) return Boolean(optional || devOptional);
    return link ? installed[name].link : installed[name].version === version;
  });
}

async function installDependencies() {
  if (areDependenciesInstalled()) return;
  const isFirstInstall = !fs.existsSync(path.join(nodeModules, ".package-lock.json"));
  const node = isNewEnough(process.versions.node) ? "" : " and a newer Node.js";
  writeLogLine(
    isFirstInstall ? `Installing the npm packages${node}, about half a minute ...` : "Updating the npm packages ...",
  );
  // For updates, `npm ci` doesn't work: it removes node_modules first, which fails on Windows while the Node.js in it runs this
  // script. It also rejects a lock file that was written with a registry that lacks the packages of other platforms.
  const done = isFirstInstall && (await runNpm("ci", "ignore")) === 0;
  const status = done ? 0 : await runNpm("install", process.stderr);
  if (status !== 0) throw new Error(`npm install failed with exit code ${status}; see above.`);
  if (!areDependenciesInstalled()) {
    throw new Error("The npm packages still differ from package-lock.json. Remove node_modules and try again.");
  }
}

/**
 * Runs the npm that started this script, or else the one on PATH.
 *
 * @param {string} command
 * @param {NodeJS.WriteStream | "ignore"} output
 */
function runNpm(command, output) {
  const args = [command, "--include=dev", "--include=optional", "--ignore-scripts", "--no-engine-strict"];
  const quietOptions = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  const npmScript = process.env["npm_execpath"] ?? "";
  return path.basename(npmScript) === "npm-cli.js"
    ? run(process.execPath, [npmScript, ...args, ...quietOptions], output)
    : run(isWindows ? "npm.cmd" : "npm", [...args, ...quietOptions], output);
}

// Node.js

/** @param {string} version */
function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = MINIMUM_NODE;
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** Finds the Node.js that was installed with the dependencies. */
function findNewerNode() {
  const platform = `${isWindows ? "win" : process.platform}-${process.arch}`;
  const program = path.join("bin", isWindows ? "node.exe" : "node");
  const nodePath = [`node-${platform}`, `node-bin-${platform}`]
    .map((name) => path.join(nodeModules, name, program))
    .find((file) => fs.existsSync(file));
  if (nodePath) return nodePath;
  throw new Error(
    `This is Node.js ${process.versions.node}; ${MINIMUM_NODE.join(".")} or later is needed, and npm has none for ` +
      `${platform}. Install a current one (https://nodejs.org/), then try again.`,
  );
}

// The built package

function getCompilerPath() {
  return path.join(nodeModules, "typescript", "bin", "tsc");
}

function getStampFile() {
  return path.join(nodeModules, ".cache", "email-security", "build.json");
}

/** Returns the digest of the sources of the last build; undefined if there is no build. */
function readBuildDigest() {
  const outputs = [path.join(dist, ".tsbuildinfo"), path.join(root, sdkDirectory, "bin")];
  return outputs.every((file) => fs.existsSync(file)) ? tryReadJson(getStampFile())?.sources : undefined;
}

function hashBuildInputs() {
  const digest = createHash("sha256");
  const files = listSourceFiles().map((file) => path.join("provider", file));
  const template = listTemplateSources().map((file) => path.join(templateDirectory, file));
  const sdk = listSdkFiles().map((file) => path.join(sdkDirectory, file));
  for (const file of [
    ...files,
    ...template,
    ...sdk,
    path.join("sdk", "tsconfig.json"),
    "tsconfig.json",
    "package-lock.json",
    "scripts/setup.mjs",
    ...pluginScripts,
  ]) {
    digest
      .update(`${file}\0`)
      .update(fs.readFileSync(path.join(root, file)))
      .update("\0");
  }
  return digest.digest("hex");
}

/** Lists the source files of the package, without installed, built and copied files, relative to its directory. */
function listSourceFiles() {
  const others = ["node_modules", "dist", "cmd", "README.md", "LICENSE"];
  return listFiles("provider", (name) => !others.includes(name));
}

/** Lists the files of the generated SDK for Node.js, relative to its directory. */
function listSdkFiles() {
  return listFiles(sdkDirectory, (name) => name !== "node_modules" && name !== "bin");
}

/** Lists the files that `email-security init` writes, without the output of local trials. */
function listTemplateSources() {
  return listFiles(templateDirectory, (name) => !/^(node_modules|plan|drift|Pulumi\..+\.yaml|.+\.sarif)$/.test(name));
}

/**
 * @param {string} top relative to the root
 * @param {(name: string) => boolean} isIncluded filters the direct children of that directory
 */
function listFiles(top, isIncluded) {
  /** @type {(directory: string) => string[]} */
  const listBelow = (directory) =>
    fs.readdirSync(path.join(root, top, directory), { withFileTypes: true }).flatMap((entry) => {
      if (directory === "" && !isIncluded(entry.name)) return [];
      const file = path.join(directory, entry.name);
      return entry.isDirectory() ? listBelow(file) : [file];
    });
  return listBelow("").sort();
}

async function build() {
  const sources = hashBuildInputs();
  if (readBuildDigest() === sources) return;
  writeLogLine("Building the package, some seconds ...");
  // A failed build leaves a mix of old and new files, so the digest of the last build is no longer true.
  fs.rmSync(getStampFile(), { force: true });
  const output = listBuildOutputs();
  // If an output is missing, the compiler's own record of its outputs is wrong.
  if ([...output].some((file) => file.endsWith(".js") && !fs.existsSync(path.join(dist, file)))) {
    for (const file of [".tsbuildinfo", ".native.tsbuildinfo"]) fs.rmSync(path.join(dist, file), { force: true });
  }
  const status = Math.max(await compile("provider"), await compile("sdk"));
  removeStaleOutputs(output);
  makeExportsLazy();
  writeSdkManifest();
  copyBrowserScripts();
  copyTemplate();
  if (status === 0) writeSchemas();
  if (status === 0) await writePlugin();
  linkCommand();
  if (status === 0) {
    fs.mkdirSync(path.dirname(getStampFile()), { recursive: true });
    fs.writeFileSync(getStampFile(), JSON.stringify({ sources }));
  } else if (buildOnly) {
    throw new Error("The package doesn't compile; see above.");
  } else {
    writeLogLine(
      "The package has type errors; see above. The set-up continues, because the compiler still wrote the files.",
    );
  }
}

/** @param {string} directory with a tsconfig.json */
function compile(directory) {
  return run(process.execPath, [getCompilerPath(), "-p", path.join(root, directory)], process.stderr);
}

/** Lists the compiler's output files, relative to dist. */
function listBuildOutputs() {
  const files = [...listSourceFiles(), ...listSdkFiles().map((file) => path.join("native", file))];
  const stems = files.flatMap((file) => /^(?!.*\.d\.ts$)(.*)\.[jt]s$/.exec(file)?.[1] ?? []);
  return new Set(stems.flatMap((stem) => [`${stem}.js`, `${stem}.d.ts`]));
}

/** Removes the outputs of sources that no longer exist. */
function removeStaleOutputs(/** @type {Set<string>} */ output) {
  for (const file of fs.readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (/\.(js|d\.ts|mod|sum)$/.test(file) && !output.has(file)) fs.rmSync(path.join(dist, file));
  }
}

/** Makes entry files load modules on first use. The exports stay as the compiler writes them, so that ES modules find their names. */
function makeExportsLazy() {
  for (const file of lazyFiles.map((name) => path.join(dist, name)).filter((name) => fs.existsSync(name))) {
    const text = fs.readFileSync(file, "utf8");
    const lazy = text.replace(/^(?:var|const) (\w+) = (require\("\.[^"]+"\));$/gm, (_line, module, load) => {
      const used = [...text.matchAll(new RegExp(`\\b${module}\\.(\\w+)`, "g"))].map(([, name]) => name);
      const getters = [...new Set(used)].map((name) => ` get ${name}() { return ${load}.${name}; }`);
      return `var ${module} = {${getters.join(",")} };`;
    });
    fs.writeFileSync(file, lazy);
  }
}

/**
 * Writes the package.json from which the generated SDK reads its version. It contains nothing else: if it named the plugin,
 * Pulumi would require the plugin even for programs that only use dynamic resources.
 */
function writeSdkManifest() {
  const { version } = tryReadJson(path.join(root, "provider", "package.json"));
  const manifest = { version, private: true, type: "commonjs" };
  fs.mkdirSync(path.join(dist, "native"), { recursive: true });
  fs.writeFileSync(path.join(dist, "native", "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** Copies the browser scripts, which are not compiled. */
function copyBrowserScripts() {
  const isBrowserScript = (/** @type {string} */ name) => /^fleet[\\/]site[\\/]browser[\\/][a-z]+\.js$/.test(name);
  for (const file of listSourceFiles().filter(isBrowserScript)) {
    fs.mkdirSync(path.dirname(path.join(dist, file)), { recursive: true });
    fs.copyFileSync(path.join(root, "provider", file), path.join(dist, file));
  }
}

/** Copies the example that `email-security init` writes. npm doesn't publish a .gitignore, so it gets another name. */
function copyTemplate() {
  const target = path.join(dist, "commands", "init", "template");
  fs.rmSync(target, { recursive: true, force: true });
  for (const file of listTemplateSources()) {
    const copy = path.join(target, file === ".gitignore" ? "gitignore" : file);
    fs.mkdirSync(path.dirname(copy), { recursive: true });
    fs.copyFileSync(path.join(root, templateDirectory, file), copy);
  }
}

/** Writes the JSON Schemas, generated from the checks of the package itself. */
function writeSchemas() {
  const directory = path.join(dist, "schemas");
  fs.rmSync(directory, { recursive: true, force: true });
  fs.mkdirSync(directory, { recursive: true });
  const { buildPublishedSchemas } = createRequire(import.meta.url)(path.join(dist, "commands", "json-schemas.js"));
  for (const [file, schema] of Object.entries(buildPublishedSchemas())) {
    fs.writeFileSync(path.join(directory, file), `${JSON.stringify(schema, undefined, 2)}\n`);
  }
}

/** Writes the plugin's schema, its bundled file, and the package of its SDK for Node.js. */
async function writePlugin() {
  /** @param {string} file */
  const importScript = (file) => import(pathToFileURL(path.join(root, "scripts", file)).href);
  const [{ buildPlugin }, { buildNativeSdk }] = [
    await importScript("build-plugin.mts"),
    await importScript("build-native-sdk.mts"),
  ];
  await buildPlugin(root, MINIMUM_NODE.join("."));
  await buildNativeSdk(root);
}

/** Links the command, because npm links it only if the file exists during the installation. */
function linkCommand() {
  const target = path.join(dist, "commands", "main.js");
  if (!fs.existsSync(target)) return;
  fs.chmodSync(target, 0o755);
  const link = path.join(nodeModules, ".bin", "email-security");
  fs.mkdirSync(path.dirname(link), { recursive: true });
  if (isWindows) {
    fs.writeFileSync(`${link}.cmd`, `@node "%~dp0..\\pulumi-email-security\\dist\\commands\\main.js" %*\r\n`);
  } else if (!fs.existsSync(link)) {
    fs.rmSync(link, { force: true });
    fs.symlinkSync("../pulumi-email-security/dist/commands/main.js", link);
  }
}

// The engine

/** Finds an installed Pulumi CLI, or builds one from Go modules, which also works in networks without other downloads. */
async function prepareEngine() {
  const { findEngine } = createRequire(import.meta.url)(path.join(dist, "engine", "index.js"));
  if ((await findEngine({ log: writeLogLine })) !== undefined) return;
  const { buildEngine } = await import(pathToFileURL(path.join(root, "scripts", "build-engine.mts")).href);
  const isTerminal = process.stderr.isTTY;
  let hasOpenLine = false;
  const closeLine = () => {
    if (hasOpenLine) process.stderr.write("\n");
    hasOpenLine = false;
  };
  /** @type {(line: string) => void} */
  const log = (line) => {
    closeLine();
    writeLogLine(line);
  };
  /** @type {(status: string) => void} */
  const showProgress = (status) => {
    process.stderr.write(`\r\x1b[K${status}`);
    hasOpenLine = true;
  };
  try {
    await buildEngine(isTerminal ? { log, onProgress: showProgress } : { log });
  } finally {
    closeLine();
  }
}

// Helpers

/**
 * Runs a step in one process at a time. Another process waits, and then skips the step.
 *
 * @param {string} name
 * @param {() => Promise<void>} work
 */
function runLocked(name, work) {
  // Not in node_modules, because npm removes unknown files there.
  return lock.withLock(path.join(root, `.setup-${name}.lock`), work, {
    onWait: (holder) => writeLogLine(`Waiting for ${holder}, which is setting up too ...`),
  });
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.WriteStream | "ignore"} [output] the target of its output. Default: this process's own output
 * @returns {Promise<number>} its exit code
 */
function run(command, args, output) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: output ? ["ignore", output, output] : "inherit",
      shell: isWindows && command.endsWith(".cmd"),
    });
    const kill = () => child.kill();
    process.once("exit", kill);
    child.once("error", reject);
    child.once("close", (code) => {
      process.removeListener("exit", kill);
      resolve(code ?? 1);
    });
  });
}

/** @param {string} file */
function tryReadJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/** @param {string} line */
function writeLogLine(line) {
  process.stderr.write(`${line}\n`);
}
