import { appendFile, copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Adds files and metadata that the generators omit but a published package needs, based on the schema. */

/** The part of the plugin's schema that describes the package. */
interface PackageSchema {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly repository: string;
  readonly publisher: string;
  readonly pluginDownloadURL: string;
  readonly language: {
    readonly nodejs: { readonly packageName: string };
    readonly python: { readonly packageName: string };
    readonly go: { readonly modulePath: string; readonly rootPackageName: string };
    readonly csharp: { readonly rootNamespace: string };
    readonly java: { readonly basePackage: string };
  };
}

/**
 * Completes the generated SDKs.
 *
 * @param directory contains a subdirectory for each language
 */
export async function completeSdks(schemaFile: string, directory: string): Promise<void> {
  const schema = JSON.parse(await readFile(schemaFile, "utf8")) as PackageSchema;
  const readmes = buildReadmes(schema);
  for (const [language, text] of Object.entries(readmes)) {
    await writeFile(join(directory, language, "README.md"), text);
    await copyFile("LICENSE", join(directory, language, "LICENSE"));
  }
  // Also here, because this copy is part of the installed package.
  await writeFile(join(directory, "python", schema.language.python.packageName, "README.md"), readmes.python);
  await writeManifest(join(directory, "nodejs", "package.json"), schema);
  await patchConstructors(join(directory, "nodejs"));
  await writeJavaProject(join(directory, "java"), schema);
}

// Node.js

/**
 * Writes the manifest. The package contains the output of scripts/build-native-sdk.mts. It declares the plugin to the engine,
 * so the package with the dynamic resources must not depend on it: the engine would try to download the plugin for
 * programs that don't need it.
 */
async function writeManifest(file: string, schema: PackageSchema): Promise<void> {
  const generated = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  const { scripts: _scripts, devDependencies: _devDependencies, homepage: _homepage, ...rest } = generated;
  const entry = { types: "./bin/native/index.d.ts", default: "./bin/native/index.js" };
  const manifest = {
    ...rest,
    repository: { type: "git", url: `git+${schema.repository}.git`, directory: "sdk/nodejs" },
    type: "commonjs",
    main: entry.default,
    types: entry.types,
    exports: { ".": entry, "./package.json": "./package.json" },
    files: ["bin"],
    engines: { node: ">=20" },
  };
  await writeFile(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** The start of argument processing, in a class and in a function. */
const ARGUMENT_START = /^( +)(?:let resourceInputs: pulumi\.Inputs = \{\};|opts = .*opts \|\| \{\}\);)$/gm;
/** The call that creates the resource. */
const RESOURCE_CREATION = /^( +)(super\(.*\);)$/m;

/**
 * Gives these classes two features of the dynamic resources. They reject unknown arguments, which the SDK for Node.js
 * ignores and the plugin never sees, and they have short stack traces. The check runs before any argument is used.
 */
async function patchConstructors(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!name.endsWith(".ts")) continue;
    const file = join(directory, name);
    const text = await readFile(file, "utf8");
    const argumentNames = [...new Set([...text.matchAll(/\bargs\??\.(\w+)/g)].map(([, argument]) => argument))].sort();
    const [, kind, declarationName] = /^export (class|function) (\w+)/m.exec(text) ?? [];
    const nameCheckedText =
      argumentNames.length === 0
        ? text
        : text.replace(
            ARGUMENT_START,
            `$1utilities.assertKnownNames(${JSON.stringify(declarationName)}, args, ${JSON.stringify(argumentNames)});\n$&`,
          );
    const briefTraceText = nameCheckedText.replace(
      RESOURCE_CREATION,
      "$1const restoreTraces = utilities.shortenTraces();\n$1try {\n$1    $2\n$1} finally {\n$1    restoreTraces();\n$1}",
    );
    if (
      (argumentNames.length > 0 && nameCheckedText === text) ||
      (kind === "class" && briefTraceText === nameCheckedText)
    ) {
      throw new Error(`${file} takes arguments or creates a resource in an unknown way.`);
    }
    if (briefTraceText !== text) await writeFile(file, briefTraceText);
  }
  await appendFile(join(directory, "utilities.ts"), UTILITIES);
}

/** Imported from the package, which contains them next to this SDK. */
const UTILITIES = `
/** @internal */
export function assertKnownNames(what: string, args: any, known: string[]): void {
    require("../resources/setting-names").assertKnownNames(what, args, known);
}

/** @internal */
export function shortenTraces(): () => void {
    return require("../resources/shorten-traces").shortenTraces();
}
`;

// Java

/** The version of Pulumi's Java package that the SDK is compiled with. */
const PULUMI_FOR_JAVA = "1.20.0";

/** Returns the group that Maven Central assigns to a GitHub owner. */
function getJavaGroup({ publisher }: PackageSchema): string {
  return `io.github.${publisher}`;
}

/**
 * Writes a Maven project, because no package registry has Gradle and its plug-ins. Also writes the plugin metadata that
 * the engine reads.
 */
async function writeJavaProject(directory: string, schema: PackageSchema): Promise<void> {
  const { name, version, description, license, repository, publisher, pluginDownloadURL } = schema;
  // Pulumi's host searches only under com/, regardless of the package of the classes.
  const resources = join(directory, "src/main/resources/com", publisher.replaceAll("-", ""), name);
  await mkdir(resources, { recursive: true });
  const plugin = { resource: true, name, version, server: pluginDownloadURL };
  await writeFile(join(resources, "plugin.json"), `${JSON.stringify(plugin, undefined, 2)}\n`);
  await writeFile(join(directory, ".gitignore"), "target/\n");
  const pom = `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 https://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>

  <groupId>${getJavaGroup(schema)}</groupId>
  <artifactId>${name}</artifactId>
  <version>${version}</version>
  <packaging>jar</packaging>

  <name>${publisher}</name>
  <description>${description}</description>
  <url>${repository}</url>
  <licenses>
    <license>
      <name>${license}</name>
      <url>${repository}/blob/main/LICENSE</url>
    </license>
  </licenses>
  <developers>
    <developer>
      <id>${publisher}</id>
      <url>${repository}</url>
    </developer>
  </developers>
  <scm>
    <connection>scm:git:${repository}.git</connection>
    <url>${repository}</url>
  </scm>

  <properties>
    <maven.compiler.release>11</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>

  <dependencies>
    <dependency>
      <groupId>com.pulumi</groupId>
      <artifactId>pulumi</artifactId>
      <version>${PULUMI_FOR_JAVA}</version>
    </dependency>
    <dependency>
      <groupId>com.google.code.findbugs</groupId>
      <artifactId>jsr305</artifactId>
      <version>3.0.2</version>
    </dependency>
  </dependencies>

  <build>
    <plugins>
      <plugin>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>3.13.0</version>
      </plugin>
    </plugins>
  </build>

  <profiles>
    <!-- Maven Central requires more than the classes: sources, documentation, and a signature of each. -->
    <profile>
      <id>release</id>
      <build>
        <plugins>
          <plugin>
            <artifactId>maven-source-plugin</artifactId>
            <version>3.4.0</version>
            <executions><execution><goals><goal>jar-no-fork</goal></goals></execution></executions>
          </plugin>
          <plugin>
            <artifactId>maven-javadoc-plugin</artifactId>
            <version>3.12.0</version>
            <executions><execution><goals><goal>jar</goal></goals></execution></executions>
            <configuration><doclint>none</doclint><quiet>true</quiet></configuration>
          </plugin>
          <plugin>
            <artifactId>maven-gpg-plugin</artifactId>
            <version>3.2.8</version>
            <executions><execution><goals><goal>sign</goal></goals></execution></executions>
            <configuration><signer>bc</signer></configuration>
          </plugin>
          <plugin>
            <groupId>org.sonatype.central</groupId>
            <artifactId>central-publishing-maven-plugin</artifactId>
            <version>0.12.0</version>
            <extensions>true</extensions>
            <configuration><publishingServerId>central</publishingServerId><autoPublish>true</autoPublish><ignorePublishedComponents>true</ignorePublishedComponents></configuration>
          </plugin>
        </plugins>
      </build>
    </profile>
  </profiles>
</project>
`;
  await writeFile(join(directory, "pom.xml"), pom);
}

// Readmes

function buildReadmes(schema: PackageSchema) {
  const { name, version, description, repository, language } = schema;
  const { nodejs, python, go, csharp, java } = language;
  const docs = `${repository}/blob/main/docs`;
  const renderReadme = (install: string, program: string): string => `# ${schema.name}

${description}.

${install}

${program}

Pulumi downloads the plugin of the same version automatically. It is a single program without dependencies. To verify it, or to install
it from another source, see [Install the plugin](${docs}/how-to/install-the-native-plugin.md). To set the tenant's address and key, see
[Installation and configuration](${docs}/installation-configuration.md).

More: [the native plugin](${docs}/reference/native-plugin.md), [its resources](${docs}/reference/resources.md) and
[functions](${docs}/reference/functions.md).
`;
  const renderFence = (kind: string, text: string): string => `\`\`\`${kind}\n${text}\n\`\`\``;
  return {
    nodejs: renderReadme(
      renderFence("sh", `npm install ${nodejs.packageName}`),
      renderFence(
        "ts",
        `import { AllowDenyList } from "${nodejs.packageName}";

new AllowDenyList("blocklist", { entries: { "evil.example": "deny: INC-7" } });`,
      ),
    ),
    python: renderReadme(
      renderFence("sh", `pip install ${python.packageName.replaceAll("_", "-")}`),
      renderFence(
        "python",
        `import ${python.packageName} as email_security

email_security.AllowDenyList("blocklist", entries={"evil.example": "deny: INC-7"})`,
      ),
    ),
    go: renderReadme(
      renderFence("sh", `go get ${go.modulePath}`),
      renderFence(
        "go",
        `_, err := ${go.rootPackageName}.NewAllowDenyList(ctx, "blocklist", &${go.rootPackageName}.AllowDenyListArgs{
	Entries: pulumi.StringMap{"evil.example": pulumi.String("deny: INC-7")},
})`,
      ),
    ),
    dotnet: renderReadme(
      renderFence("sh", `dotnet add package ${csharp.rootNamespace}.EmailSecurity`),
      renderFence(
        "csharp",
        `using ${csharp.rootNamespace}.EmailSecurity;

new AllowDenyList("blocklist", new() { Entries = { { "evil.example", "deny: INC-7" } } });`,
      ),
    ),
    java: renderReadme(
      renderFence(
        "xml",
        `<dependency>
  <groupId>${getJavaGroup(schema)}</groupId>
  <artifactId>${name}</artifactId>
  <version>${version}</version>
</dependency>`,
      ),
      renderFence(
        "java",
        `import ${java.basePackage}.emailsecurity.AllowDenyList;
import ${java.basePackage}.emailsecurity.AllowDenyListArgs;

new AllowDenyList("blocklist", AllowDenyListArgs.builder()
    .entries(Map.of("evil.example", "deny: INC-7"))
    .build());`,
      ),
    ),
  };
}
