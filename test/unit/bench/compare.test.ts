import { describe, expect, it } from "vitest";
import { compared, type SavedMeasurements } from "../../bench/compare";
import type { Measurement } from "../../bench/measurement";

const FACTS = {
  date: "2026-11-01",
  commit: "0123abcde",
  cpu: "cpu",
  cores: 2,
  memoryGb: 24,
  system: "Linux",
  node: "24",
  pulumi: "3",
};

function bench(...runs: readonly (readonly [peer: string, measured: Partial<Measurement>])[]): SavedMeasurements {
  const whole = (measured: Partial<Measurement>): Measurement => ({
    operation: "refresh",
    count: 5_000,
    ...measured,
  });
  return { facts: FACTS, observations: runs.map(([peer, measured]) => ({ peer, ...whole(measured) })) };
}

const floorOf = (): string => "floor";

function worse(before: SavedMeasurements, now: SavedMeasurements): readonly string[] {
  return compared(before, now, floorOf).worse;
}

describe("comparison with an earlier benchmark", () => {
  const before = bench(["list", { seconds: 2 }], ["list", { seconds: 2.4 }]);

  it("reports an operation slower than every earlier run by over a tenth", () => {
    const now = bench(["list", { seconds: 2.6 }], ["list", { seconds: 2.8 }]);
    expect(worse(before, now)).toEqual(["list: refresh of 5,000: time 2.70 s, and 2.20 s before"]);
  });

  it("ignores differences that overlap or stay within a tenth", () => {
    expect(worse(before, bench(["list", { seconds: 2.3 }], ["list", { seconds: 3.4 }]))).toEqual([]);
    const even = bench(["list", { seconds: 2 }]);
    expect(worse(even, bench(["list", { seconds: 2.19 }]))).toEqual([]);
    expect(worse(even, bench(["list", { seconds: 2.21 }]))).toHaveLength(1);
  });

  it("blames only the floor when the whole machine is slower", () => {
    const quick = bench(["floor", { seconds: 1 }], ["list", { seconds: 2 }]);
    expect(worse(quick, bench(["floor", { seconds: 2 }], ["list", { seconds: 4 }]))).toEqual([
      "floor: refresh of 5,000: time 2.00 s, and 1.00 s before",
    ]);
    expect(worse(quick, bench(["floor", { seconds: 0.5 }], ["list", { seconds: 2 }]))).toEqual([
      "list: refresh of 5,000: time 2.00 s, 4.00 ×, and 2.00 s, 2.00 × before",
    ]);
  });

  it("ignores the floor's noise but reports slowdowns beyond it", () => {
    const of = (floors: readonly number[], seconds: number): SavedMeasurements =>
      bench(
        ...floors.map((floor) => ["floor", { seconds: floor }] as const),
        ["list", { seconds }],
        ["list", { seconds: seconds + 0.05 }],
      );
    const was = of([1, 1.3], 2);
    expect(worse(was, of([1, 1], 2))).toEqual([]);
    expect(worse(was, of([1, 1.02], 2.2))).toEqual([
      "list: refresh of 5,000: time 2.23 s, 2.20 ×, and 2.02 s, 1.76 × before",
    ]);
  });

  it("compares requests and state exactly but memory approximately", () => {
    const of = (reads: number, compactBytes: number, peakBytes: number): SavedMeasurements =>
      bench(["list", { requests: { reads, writes: 1 }, stateAnEntry: { compactBytes, fileBytes: 1 }, peakBytes }]);
    expect(worse(of(26, 100, 100e6), of(26, 100, 114e6))).toEqual([]);
    expect(worse(of(26, 100, 100e6), of(27, 102, 116e6))).toEqual([
      "list: refresh of 5,000: reads 27, and 26 before",
      "list: refresh of 5,000: bytes of state per entry 102, and 100 before",
      "list: refresh of 5,000: peak of memory, MB 116, and 100 before",
    ]);
    expect(worse(of(26, 100, 100e6), of(20, 90, 50e6))).toEqual([]);
  });

  it("lists only time regressions for remeasurement", () => {
    const now = bench(["list", { seconds: 2.6 }], ["vips", { requests: { reads: 3, writes: 0 } }]);
    const was = bench(["list", { seconds: 2 }], ["vips", { requests: { reads: 2, writes: 0 } }]);
    const { worse, slower } = compared(was, now, floorOf);
    expect(worse).toHaveLength(2);
    expect([...slower]).toEqual(["list"]);
  });

  it("shows the compared commits and omits operations measured only once", () => {
    const { text } = compared(before, bench(["list", { seconds: 2 }], ["vips", { seconds: 9 }]), floorOf);
    expect(text).toContain("0123abcde, 2026-11-01");
    expect(text).toContain("list: refresh of 5,000");
    expect(text).not.toContain("vips");
  });
});
