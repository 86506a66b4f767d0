import BenchmarkSupport
import Foundation
import KVClone

/// Clones photos without images, with small and with large images: a clone adds a reference to each image, so its time
/// does not depend on their sizes.
enum ImagesBenchmark {
  static func run(in directory: String, quick: Bool) throws {
    let photos = quick ? 1_000 : 5_000
    let rounds = quick ? 3 : 7
    let workspace = try Workspace(in: directory)
    defer { workspace.remove() }

    let stores = [("none", 0), ("2 kB", 2_000), ("100 kB", 100_000)]
    report("images: about \(photos) photos, without images and with images of two sizes")
    var roots: [ObjectID] = []
    for (name, bytes) in stores {
      roots.append(try PhotoGraph.make(at: "\(workspace.path)/\(name)", objects: photos, imageBytes: bytes))
    }
    var warm = [[Sample]](repeating: [], count: stores.count)
    var cold = warm
    for _ in 0..<rounds {
      for (index, root) in roots.enumerated() {
        let store = "\(workspace.path)/\(stores[index].0)"
        warm[index].append(try workspace.cloneInCopy(of: store, root: root))
        cold[index].append(try workspace.cloneInCopy(of: store, root: root, cold: true))
      }
    }

    report("  an image     MiB in store   in memory   from disk")
    for (index, (name, bytes)) in stores.enumerated() {
      let columns = [
        "  " + name.padding(toLength: 9, withPad: " ", startingAt: 0), mebibytes(bytes * photos).right(16),
        milliseconds(warm[index]).right(12), milliseconds(cold[index]).right(12), fromDisk(cold[index]).right(12),
      ]
      report(columns.joined())
    }
  }

  private static func milliseconds(_ samples: [Sample]) -> String {
    fixed(Measuring.median(samples.map(\.seconds)) * 1e3, 1) + " ms"
  }

  private static func fromDisk(_ samples: [Sample]) -> String {
    mebibytes(Int(Measuring.median(samples.map { Double($0.diskBytesRead) }))) + " MiB"
  }
}
