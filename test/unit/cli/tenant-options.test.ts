import { Command } from "commander";
import { expect, it } from "vitest";
import {
  addRepeatableSelectionOptions,
  addSelectionOptions,
  parseSelection,
  type SelectionOptions,
} from "../../../provider/cli/tenant-options";

it("parses repeated and space-separated selection options alike", () => {
  const alone = addSelectionOptions(new Command()).argument("[file]");
  const repeatable = addRepeatableSelectionOptions(new Command()).argument("[values...]");
  alone.parse(["--only", "a,b", "c*", "--label", "ring=canary", "!eu=yes"], { from: "user" });
  repeatable.parse(["--only", "a,b", "v", "--only", "c*", "--label", "ring=canary", "--label", "!eu=yes", "w"], {
    from: "user",
  });
  const selected = { only: ["a", "b", "c*"], labels: ["ring=canary", "!eu=yes"] };
  expect(parseSelection(alone.opts<SelectionOptions>())).toEqual(selected);
  expect(parseSelection(repeatable.opts<SelectionOptions>())).toEqual(selected);
  expect(repeatable.args).toEqual(["v", "w"]);
});

it("rejects an empty name in --only", () => {
  expect(parseSelection({})).toEqual({});
  for (const only of [[""], [","], []]) expect(() => parseSelection({ only })).toThrow("--only contains no tenant");
});
