import Foundation

/// A folder for stores in directories, which is removed after the benchmark.
struct Folder {
  let path: String

  init(in directory: String) throws {
    path = directory + "/cluster-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
