import BenchmarkSupport
import Foundation
import KVClone
import KVCloneMerge
import KVCloneOperations

/// Workloads that must run in constant memory, one per process, so that memory kept by one does not hide the use of
/// another.
///
/// `CloneBenchmark memory NAME prepare|run DIRECTORY COUNT`; `Tools/memory` calls it and monitors the process.
enum MemoryWorkload: String, CaseIterable {
  /// A clone of `count` objects.
  case clone
  /// `count` images of 100 kB, inserted in one transaction.
  case images
  /// The same images from streams.
  case streams
  /// The same images, each staged and then used in one transaction.
  case staged
  /// One blob of `count` MiB: streamed in, read back and deleted.
  case blob
  /// Cascading deletes of `count` objects: a chain, a tree, a star.
  case cascade
  /// Deletes the owner of an inverse list of `count` members.
  case nullify
  /// Files for `kvclone load`: NDJSON with `count` referenced images of 100 kB.
  case loadImages = "load-images"
  /// A file for `kvclone load`: `count` lines, each linked to others.
  case loadLines = "load-lines"
  /// Checks a store of `count` objects.
  case check
  /// Migrates a store of `count` objects, with type changes of two attributes.
  case migrate
  /// Publishes a branch with `count` changed objects.
  case merge

  static let imageLength = 100_000

  struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  /// Prepares the files for the run.
  func prepare(_ count: Int, in directory: String) throws {
    let path = directory + "/store"
    switch self {
    case .clone, .check, .migrate: _ = try PhotoGraph.make(at: path, objects: count)
    case .merge:
      // One object of a hundred is an album.
      _ = try PhotoGraph.make(at: path, objects: count + count / 50)
      try withStore(path, PhotoModel.model) { try Self.changePhotos($0, count) }
    case .images, .streams, .staged: try ObjectStore.create(at: path, model: PhotoModel.model).close()
    case .blob: try ObjectStore.create(at: path, model: PhotoModel.model).close()
    case .cascade:
      for shape in CascadeShape.allCases {
        try withStore("\(directory)/\(shape)", StructuresBenchmark.model, creating: true) { store in
          _ = try store.write { tx in try shape.make(count, &tx) }
        }
      }
    case .nullify:
      try withStore(path, StructuresBenchmark.model, creating: true) { store in
        try store.write { tx in
          let owner = try tx.insert("Owner")
          for _ in 0..<count { try tx.insert("Item", relationships: ["owner": [owner]]) }
        }
      }
    case .loadImages: try LoadFiles.writeImages(count, in: directory)
    case .loadLines: try LoadFiles.writeLines(count, in: directory)
    }
  }

  /// Performs the workload, and returns a description of the result.
  func run(_ count: Int, in directory: String) throws -> String {
    let path = directory + "/store"
    switch self {
    case .clone:
      return try withStore(path, PhotoModel.model) { store in
        let library = try store.read { tx in try tx.objectID(named: "Library/1") }
        return "\(try store.clone([library]).objectCount) clones"
      }
    case .images, .streams, .staged: return try withStore(path, PhotoModel.model) { try writeImages($0, count) }
    case .blob: return try withStore(path, PhotoModel.model) { try Self.passBlob($0, mebibytes: count) }
    case .cascade: return try cascade(count, directory)
    case .nullify:
      return try withStore(path, StructuresBenchmark.model) { store in
        try store.write { tx in _ = try tx.delete([try tx.objectID(named: "Owner/1")]) }
        return "\(count) members unlinked"
      }
    case .migrate:
      let migration = try ObjectStore.migrate(at: path, to: MigrationBenchmark.model(2, MigrationBenchmark.changeTypes))
      return "\(migration.rewrittenCount) objects migrated"
    case .check:
      return try withStore(path, PhotoModel.model) { store in
        let report = try store.check()
        guard report.issues.isEmpty else { throw Wrong(description: "\(report.issues.count) damages") }
        return "no damage"
      }
    case .merge:
      return try withStore(path, PhotoModel.model) { store in
        let merged = try store.branches.publish(Self.branch).objects.updated
        guard merged == count else { throw Wrong(description: "\(merged) of \(count) changes were merged") }
        return "\(merged) changes merged"
      }
    case .loadImages, .loadLines: throw Wrong(description: "this is work for kvclone load")
    }
  }

  private static let branch = "merged"

  /// Changes photos on a branch.
  private static func changePhotos(_ store: ObjectStore, _ count: Int) throws {
    let branch = try store.branches.create(Self.branch)
    let photos = try branch.read { tx in try tx.fetchIDs(FetchRequest("Photo")) }.prefix(count)
    try branch.write { tx in for photo in photos { try tx.set(photo, "title", .string("changed")) } }
  }

  private func writeImages(_ store: ObjectStore, _ count: Int) throws -> String {
    var random = SeededGenerator(seed: 7)
    var image = Data(count: Self.imageLength)
    func next() -> Data {
      withUnsafeBytes(of: random.next()) { image.replaceSubrange(0..<8, with: $0) }
      return image
    }
    if self == .staged {
      let staged = try (0..<count).map { _ in
        let data = next()
        return try store.stageBlob { writer in try writer.append(data) }
      }
      try store.write { tx in
        for data in staged { try tx.setData(try tx.insert("Photo"), "image", data) }
      }
    } else {
      try store.write { tx in
        for _ in 0..<count {
          let data = next()
          if self == .images {
            try tx.insert("Photo", ["image": .binary(data)])
          } else {
            try tx.setData(try tx.insert("Photo"), "image") { writer in
              for start in stride(from: 0, to: data.count, by: 8192) {
                try writer.append(data[start..<min(data.count, start + 8192)])
              }
            }
          }
        }
      }
    }
    return "\(count) images"
  }

  private static func passBlob(_ store: ObjectStore, mebibytes: Int) throws -> String {
    let piece = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let photo = try store.write { tx in
      let photo = try tx.insert("Photo")
      try tx.setData(photo, "image") { writer in for _ in 0..<mebibytes { try writer.append(piece) } }
      return photo
    }
    var sum: UInt64 = 0
    let read = try store.read { tx in
      try tx.readData(photo, "image") { bytes in sum &+= UInt64(bytes.unsafeLoadUnaligned(as: UInt64.self)) }
    }
    guard read == UInt64(mebibytes) << 20, sum > 0 else { throw Wrong(description: "it reads back another length") }
    try store.write { tx in _ = try tx.delete([photo]) }
    return "\(mebibytes) MiB in, out and deleted"
  }

  private func cascade(_ count: Int, _ directory: String) throws -> String {
    for shape in CascadeShape.allCases {
      try withStore("\(directory)/\(shape)", StructuresBenchmark.model) { store in
        try onSmallStack {
          try store.write { tx in
            let root = try tx.objectID(named: shape == .star ? "Owner/1" : "Item/1")
            let deleted = try tx.delete([root]).deletedCount
            guard deleted == count else { throw Wrong(description: "\(deleted) of \(count) were deleted") }
          }
        }
      }
    }
    return "chain, tree and star of \(count)"
  }

  @discardableResult
  private func withStore<R>(
    _ path: String, _ model: ManagedObjectModel, creating: Bool = false, _ body: (ObjectStore) throws -> R
  ) throws -> R {
    let store = try creating ? ObjectStore.create(at: path, model: model) : ObjectStore.open(at: path)
    defer { store.close() }
    return try body(store)
  }
}

/// The input files of `kvclone load`.
private enum LoadFiles {
  static func writeImages(_ count: Int, in directory: String) throws {
    try ObjectStore.create(at: directory + "/store", model: PhotoModel.model).close()
    let lines = try LineFile(directory + "/data.ndjson")
    var random = SeededGenerator(seed: 11)
    var image = Data(count: MemoryWorkload.imageLength)
    for number in 1...count {
      withUnsafeBytes(of: random.next()) { image.replaceSubrange(0..<8, with: $0) }
      try image.write(to: URL(fileURLWithPath: "\(directory)/\(number).bin"))
      try lines.write(#"{"id":"Photo/\#(number)","attributes":{"image":{"file":"\#(number).bin"}}}"#)
    }
    try lines.end()
  }

  /// Albums of 100 photos in one library, each photo with a tag: to-one and to-many links, forwards and backwards.
  static func writeLines(_ count: Int, in directory: String) throws {
    try ObjectStore.create(at: directory + "/store", model: PhotoModel.model).close()
    let lines = try LineFile(directory + "/data.ndjson")
    try lines.write(#"{"id":"Library/1","attributes":{"name":"Everything"}}"#)
    for tag in 1...1000 { try lines.write(#"{"id":"Tag/\#(tag)","attributes":{"name":"tag \#(tag)"}}"#) }
    let albums = max(1, (count - 1001) / 101)
    for album in 1...albums {
      try lines.write(
        #"{"id":"Album/\#(album)","attributes":{"title":"Album \#(album)"},"relationships":{"library":"Library/1"}}"#)
      for photo in (album - 1) * 100 + 1...album * 100 {
        try lines.write(
          #"{"id":"Photo/\#(photo)","attributes":{"title":"Photo \#(photo)","width":\#(photo % 6000)},"#
            + #""relationships":{"album":"Album/\#(album)","tags":["Tag/\#(photo % 1000 + 1)"]}}"#)
      }
    }
    try lines.end()
  }
}

/// Writes lines in large blocks.
private final class LineFile {
  private let handle: FileHandle
  private var buffer = Data()

  init(_ path: String) throws {
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
  }

  func write(_ line: String) throws {
    buffer += Data((line + "\n").utf8)
    if buffer.count > 1 << 20 { try flush() }
  }

  func end() throws {
    try flush()
    try handle.close()
  }

  private func flush() throws {
    try handle.write(contentsOf: buffer)
    buffer.removeAll(keepingCapacity: true)
  }
}
