import Foundation
import KVClone
import Testing

/// A clone of a store outside the page cache reads the records, but not the images between them.
@Suite struct CloneColdFileTests {
  private static let model = ManagedObjectModel("Album") {
    EntityDescription("Album") {
      RelationshipDescription("photos", toMany: "Photo", inverse: "album", deleteRule: .cascade)
    }
    EntityDescription("Photo") {
      AttributeDescription("title", .string)
      AttributeDescription("image", .binary)
      RelationshipDescription("album", toOne: "Album", inverse: "photos")
    }
  }

  @Test func cloneOfPhotosReadsNoImage() throws {
    let folder = FileManager.default.temporaryDirectory.path + "/kvclone-cold-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let photos = 400
    try Self.make(folder, photos: photos)
    let file = try ColdFile(folder + "/data.mdb")
    // Impossible on file systems in memory, and on those that keep their cache.
    guard try file.drop() else { return }
    let store = try ObjectStore.open(at: folder)
    let result = try store.clone([try store.read { try $0.objectID(named: "Album/1") }])
    store.close()
    #expect(result.objectCount == photos + 1)
    // Records, the pages that lead to them, and the pages that the clone wrote.
    let resident = try file.residentByteCount()
    #expect(resident < file.byteCount / 10, "\(resident) of \(file.byteCount) bytes are in the page cache")
  }

  private static func make(_ folder: String, photos: Int) throws {
    let store = try ObjectStore.create(at: folder, model: model)
    defer { store.close() }
    try store.write { transaction in
      let album = try transaction.insert("Album")
      for number in 0..<photos {
        let image = Data(repeating: UInt8(truncatingIfNeeded: number), count: 100_000)
        try transaction.insert(
          "Photo", ["title": .string("Photo \(number)"), "image": .binary(image)], relationships: ["album": [album]])
      }
    }
  }
}

/// A file with a known state in the page cache.
private final class ColdFile {
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
  }

  deinit { close(descriptor) }

  var byteCount: Int {
    var facts = stat()
    return fstat(descriptor, &facts) == 0 ? Int(facts.st_size) : 0
  }

  /// Drops the file from the page cache; returns false if that is not possible.
  func drop() throws -> Bool {
    fsync(descriptor)
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    return try residentByteCount() < byteCount / 100
  }

  func residentByteCount() throws -> Int {
    let length = byteCount
    let map = try #require(mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, 0))
    try #require(map != MAP_FAILED)
    defer { munmap(map, length) }
    var pages = [UInt8](repeating: 0, count: (length + 4095) / 4096)
    try #require(mincore(map, length, &pages) == 0)
    return pages.count { $0 & 1 != 0 } * 4096
  }
}
