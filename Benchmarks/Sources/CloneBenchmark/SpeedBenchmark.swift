import BenchmarkSupport
import Foundation
import KVClone

/// Nanoseconds per object, for clones of three sizes.
enum SpeedBenchmark {
  static func run(in directory: String, quick: Bool) throws {
    let sizes = quick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000]
    let rounds = quick ? 3 : 5
    let workspace = try Workspace(in: directory)
    defer { workspace.remove() }

    report("speed: a library of albums of 100 photos, 5 attributes and 2 of 1,000 shared tags each")
    let clock = ContinuousClock()
    var roots: [ObjectID] = []
    for size in sizes {
      let took = try clock.measure { roots.append(try PhotoGraph.make(at: store(size), objects: size)) }
      report(
        "  made \(size) objects in \(fixed(took.seconds, 1)) s (\(fixed(took.seconds * 1e9 / Double(size))) ns each)")
    }
    func store(_ size: Int) -> String { "\(workspace.path)/source-\(size)" }

    // Rounds are interleaved over the sizes, so that a slow phase of the machine affects all of them.
    var samples = [[Sample]](repeating: [], count: sizes.count)
    for _ in 0..<rounds {
      for (index, size) in sizes.enumerated() {
        // Small clones are too short for one precise measurement, so there are more of them.
        for _ in 0..<(size <= 10_000 ? 5 : 1) {
          samples[index].append(try workspace.cloneInCopy(of: store(size), root: roots[index]))
        }
      }
    }

    report("     objects   rounds   ns/object (median)   least   most   processor   seconds   anonymous MiB")
    for of in samples {
      let times = of.map(\.nanosecondsPerObject)
      let columns = [
        "\(of[0].objects)".right(12), "\(of.count)".right(9), fixed(Measuring.median(times)).right(21),
        fixed(times.min() ?? 0).right(8), fixed(times.max() ?? 0).right(7),
        fixed(Measuring.median(of.map(\.processorNanosecondsPerObject))).right(12),
        fixed(Measuring.median(of.map(\.seconds)), 3).right(10),
        mebibytes(of.map(\.anonymousBytes).max() ?? 0).right(16),
      ]
      report(columns.joined())
    }
    report(
      "  the largest costs \(ratio(samples, \.nanosecondsPerObject)) × of the smallest per object, "
        + "\(ratio(samples, \.processorNanosecondsPerObject)) × in processor time")
  }

  private static func ratio(_ samples: [[Sample]], _ cost: (Sample) -> Double) -> String {
    guard let first = samples.first, let last = samples.last else { return "?" }
    return fixed(Measuring.median(last.map(cost)) / Measuring.median(first.map(cost)), 2)
  }
}
