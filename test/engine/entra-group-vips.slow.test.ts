import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { findMissingToolchain, installPulumiPython, installPython } from "../support/language-hosts";
import { createTestDirectory } from "../support/test-directory";

const run = promisify(execFile);

it.skipIf(findMissingToolchain("python") !== undefined)(
  "declares the enabled members with a mailbox in the organization, in Python",
  async () => {
    using directory = createTestDirectory();
    const python = await installPulumiPython();
    const packages = join(directory.path, "packages");
    await installPython(python, resolve("sdk/python"), packages);
    const program = resolve("examples/entra-group-vips-python/__main__.py");
    const { stdout } = await run(join(python, "python"), [resolve("test/engine/entra-group-vips.py"), program], {
      env: { ...process.env, PYTHONPATH: packages },
    });
    expect(JSON.parse(stdout)).toEqual({
      declared: [
        [
          "email-security:index:VipList",
          {
            members: { "jane.doe@acme.example": "Member of Executive Leadership: Person jane.doe@acme.example" },
            onDelete: "keep",
          },
        ],
      ],
      calls: [
        { displayName: "Executive Leadership", includeTransitiveMembers: true },
        { objectIds: ["jane", "nested"], ignoreMissing: true },
      ],
    });
  },
);
