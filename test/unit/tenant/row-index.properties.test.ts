import fc from "fast-check";
import { expect, test } from "vitest";
import { RowIndex } from "../../../provider/tenant/row-index";

interface NamedRow {
  readonly name: string;
  readonly at: number;
}

const key = fc.constantFrom("a", "b", "c", "d");
const name = fc.constantFrom("x", "y");
const step = fc.oneof(
  fc.record({ does: fc.constant("set" as const), key, name }),
  fc.record({ does: fc.constant("delete" as const), key }),
  fc.record({ does: fc.constant("deleteNamed" as const), name }),
  fc.record({ does: fc.constant("named" as const), name }),
);

test("finds rows by key and by name in insertion order", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const rows = new RowIndex<NamedRow>((row) => row.name);
      // Rewriting a row keeps the position of its key, but moves the row to the end of the rows with the same name.
      let keys: string[] = [];
      let written: { readonly key: string; readonly row: NamedRow }[] = [];
      const removeRows = (isRemoved: (item: { readonly key: string; readonly row: NamedRow }) => boolean) => {
        written = written.filter((candidate) => !isRemoved(candidate));
      };
      for (const [index, item] of steps.entries()) {
        if (item.does === "set") {
          const row = { name: item.name, at: index };
          rows.set(item.key, row);
          removeRows((other) => other.key === item.key);
          written.push({ key: item.key, row });
          if (!keys.includes(item.key)) keys.push(item.key);
        } else if (item.does === "delete") {
          rows.delete(item.key);
          removeRows((other) => other.key === item.key);
        } else if (item.does === "deleteNamed") {
          rows.deleteByName(item.name);
          removeRows((other) => other.row.name === item.name);
        } else {
          expect(rows.getByName(item.name)).toEqual(
            written.filter((other) => other.row.name === item.name).map(({ row }) => row),
          );
        }
        keys = keys.filter((some) => written.some((other) => other.key === some));
        expect(rows.getAll()).toEqual(keys.map((some) => written.find((other) => other.key === some)?.row));
        for (const some of ["a", "b", "c", "d"]) {
          expect(rows.get(some)).toBe(written.find((other) => other.key === some)?.row);
        }
      }
    }),
  );
});

test("computes names lazily and once per row", () => {
  let readCount = 0;
  const rows = new RowIndex<NamedRow>((row) => {
    readCount += 1;
    return row.name;
  });
  for (let index = 0; index < 100; index += 1) rows.set(String(index), { name: `n${index}`, at: index });
  rows.delete("7");
  expect(rows.getAll()).toHaveLength(99);
  expect(readCount).toBe(0);
  expect(rows.getByName("n5")).toEqual([{ name: "n5", at: 5 }]);
  expect(rows.getByName("n7")).toEqual([]);
  expect(readCount).toBe(99);
});
