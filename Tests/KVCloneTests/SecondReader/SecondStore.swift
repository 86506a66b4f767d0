import Foundation
import KVCloneTestSupport

/// A store's contents, decoded only by the rules of `Format.md`.
struct SecondStore {
  let file: SecondFile
  let uuid: [UInt8]
  let commit: UInt64
  let model: SecondModel
  let layouts: [UInt16: SecondLayout]
  /// Numbers by name: `serial-%04x`, `blob-serial`, `epoch`, `staged-%016x` …
  let counters: [String: UInt64]
  /// All objects, by root entity and serial.
  let objects: [SecondRecord]
  let links: SecondLinks
  /// The blobs that a branch counts; nil for a store, which counts all of its own.
  let countedBlobs: Set<UInt64>?

  init(path: String) throws { try self.init(SecondFile(path: path)) }

  init(_ file: SecondFile, countedBlobs: Set<UInt64>? = nil) throws {
    self.file = file
    self.countedBlobs = countedBlobs
    var metadata: [String: ArraySlice<UInt8>] = [:]
    for entry in try file.entries("metadata") { metadata[String(decoding: entry.key, as: UTF8.self)] = entry.payload }
    guard let format = metadata["format"] else { throw SecondError("there is no format") }
    var bytes = SecondBytes(format)
    guard try bytes.u32() >= 3 else { throw SecondError("the file's format is older than this reader") }
    guard try bytes.u32() <= 7 else { throw SecondError("the file's format is newer than this reader") }
    uuid = Array(try bytes.take(16))
    _ = try bytes.f64()
    var counters: [String: UInt64] = [:]
    var layouts: [UInt16: SecondLayout] = [:]
    for (name, payload) in metadata {
      if ["commit", "epoch", "blob-serial", "catalog", "layer"].contains(name) || name.hasPrefix("serial-")
        || name.hasPrefix("staged-")
      {
        var bytes = SecondBytes(payload)
        counters[name] = try bytes.u64()
        try bytes.end()
      } else if name.hasPrefix("layout-") {
        let layout = try SecondLayout(payload)
        guard name == "layout-" + String(format: "%04x", layout.id) else { throw SecondError("\(name) has another id") }
        layouts[layout.id] = layout
      }
    }
    let number = counters["catalog"] ?? 0
    guard let document = metadata["model-" + String(format: "%04x", number)] else { throw SecondError("no model") }
    let model = try SecondModel(document)
    var objects: [SecondRecord] = []
    for (name, entries) in file.tables.sorted(by: { $0.key < $1.key }) where name.hasPrefix("objects-") {
      for entry in entries {
        let id = secondNumber(entry.key[...])
        guard entry.key.count == 8, name == "objects-" + String(format: "%04x", id >> 48), id << 16 != 0 else {
          throw SecondError("an object's id is not valid")
        }
        objects.append(try SecondRecord(id: id, payload: entry.payload, layouts: layouts))
      }
    }
    self.counters = counters
    self.layouts = layouts
    self.model = model
    self.objects = objects
    commit = counters["commit"] ?? 0
    links = try SecondLinks(file.entries("links"))
  }

  /// Returns the members of a to-many relationship, in the list's order.
  func members(_ record: SecondRecord, _ property: UInt16) throws -> [UInt64] {
    guard let head = record.heads[property] else { return [] }
    if let ids = record.inline[property] { return ids }
    let ids = links.members(SecondLinks.List(owner: record.id, property: property))
    guard ids.count == head.count else { throw SecondError("a list has another number of members than its head says") }
    return ids
  }
}

extension SecondFile {
  func entries(_ table: String) throws -> [SecondEntry] {
    guard let entries = tables[table] else { throw SecondError("there is no table \(table)") }
    return entries
  }
}

/// The table `links`, by list.
struct SecondLinks {
  struct List: Hashable {
    let owner: UInt64
    let property: UInt16
  }

  struct Chunk {
    let position: UInt64
    let ids: [UInt64]
  }

  struct Page {
    let position: UInt64
    let chunks: [(label: UInt64, members: UInt32)]
  }

  private(set) var chunks: [List: [Chunk]] = [:]
  /// Chunk labels by member.
  private(set) var labels: [List: [UInt64: UInt64]] = [:]
  private(set) var directories: [List: [Page]] = [:]

  init(_ entries: [SecondEntry]) throws {
    for entry in entries {
      guard entry.key.count == 19 else { throw SecondError("a key of links is not 19 bytes long") }
      let list = List(owner: secondNumber(entry.key[0..<8]), property: UInt16(secondNumber(entry.key[8..<10])))
      let position = secondNumber(entry.key[11..<19])
      var bytes = SecondBytes(entry.payload)
      switch entry.key[10] {
      case 0:
        let count = try Self.count(&bytes)
        chunks[list, default: []].append(Chunk(position: position, ids: try bytes.numbers(count)))
      case 1: labels[list, default: [:]][position] = try bytes.u64()
      case 2:
        let count = try Self.count(&bytes)
        let page = Page(position: position, chunks: try (0..<count).map { _ in (try bytes.u64(), try bytes.u32()) })
        directories[list, default: []].append(page)
      default: throw SecondError("a key of links has an unknown kind")
      }
      try bytes.end()
    }
  }

  private static func count(_ bytes: inout SecondBytes) throws -> Int {
    let count = try bytes.u16()
    try bytes.zero(2)
    guard 1...128 ~= count else { throw SecondError("a chunk has \(count) entries") }
    return Int(count)
  }

  func members(_ list: List) -> [UInt64] { (chunks[list] ?? []).flatMap(\.ids) }
}
