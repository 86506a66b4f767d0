import Foundation
import KVCloneTestSupport

extension SecondStore {
  /// Throws an error for the first violation of `Format.md`.
  func check() throws {
    try checkCounters()
    try checkLists()
    try checkLinks()
    try checkBlobs()
    try checkIndexes()
    try checkOperations()
    try checkBranches()
  }

  /// Checks that provenance is deleted with its clone, and that recorded operations are valid.
  private func checkOperations() throws {
    let ids = Set(objects.map(\.id))
    for entry in try file.entries("provenance") {
      var value = SecondBytes(entry.payload)
      let source = try value.u64()
      let (sourceCommit, operation, flags) = (try value.u64(), try value.u64(), try value.u64())
      guard entry.key.count == 8, ids.contains(secondNumber(entry.key[...])), source > 0, operation <= commit else {
        throw SecondError("a clone that is to have been made is not there")
      }
      guard flags <= 3, flags & 1 == 1 || sourceCommit <= operation else {
        throw SecondError("a clone is older than its source")
      }
      if flags & 1 != 0 { _ = try value.take(16) }
      if flags & 2 != 0 {
        guard try value.u32() > 0 else { throw SecondError("a draft names no base") }
        _ = try value.u32()
      }
      try value.end()
    }
    for entry in try file.entries("operations") {
      guard (1...255).contains(entry.key.count), String(validating: entry.key, as: UTF8.self) != nil else {
        throw SecondError("an idempotency key has a wrong form")
      }
      var value = SecondBytes(entry.payload)
      try value.zero(4)
      let count = Int(try value.u32())
      guard try value.u64() <= commit else { throw SecondError("an operation was done by no commit") }
      let (time, expires) = (try value.f64(), try value.f64())
      guard time.isFinite, expires.isNaN || expires.isFinite else { throw SecondError("a time is none") }
      guard try value.numbers(count).allSatisfy({ $0 > 0 }), try value.counted().count == 32 else {
        throw SecondError("an operation has no roots, or no digest")
      }
      let result = try JSONSerialization.jsonObject(with: Data(try value.counted())) as? [String: Any]
      // A merge has no roots, and names its snapshots.
      let isMerge = count == 0 && result?["snapshots"] is [String]
      guard isMerge || result?["objects"] is NSNumber, result?["counts"] is [String: Any] else {
        throw SecondError("an operation has no result")
      }
      try value.end()
    }
  }

  /// Checks that all used serials and codes are below their counters, because none is reused.
  private func checkCounters() throws {
    for record in objects {
      let root = String(format: "serial-%04x", record.id >> 48)
      guard record.id & (1 << 48 - 1) < counters[root] ?? 1, record.commit <= commit else {
        throw SecondError("an object is newer than the counters")
      }
      guard try model.entity(of: record).rootCode == UInt16(record.id >> 48) else {
        throw SecondError("an object is not in its entity's table")
      }
    }
    for entry in try file.entries("blobinfo") where secondNumber(entry.key[...]) >= counters["blob-serial"] ?? 1 {
      throw SecondError("a blob is newer than its counter")
    }
    let codes =
      Array(model.entities.keys) + Array(layouts.keys) + model.indexes.map(\.number) + model.fetchIndexes.map(\.number)
    guard codes.allSatisfy({ $0 > 0 }), model.entities.keys.allSatisfy({ $0 <= model.last["lastEntity"] ?? 0 }),
      layouts.keys.allSatisfy({ $0 <= model.last["lastLayout"] ?? 0 }),
      (model.indexes.map(\.number) + model.fetchIndexes.map(\.number)).allSatisfy({ $0 <= model.last["lastIndex"] ?? 0 }
      )
    else { throw SecondError("a code is above the last one") }
  }

  /// Checks the forms of lists: heads, chunks, member indexes, directories.
  private func checkLists() throws {
    var unused = Set(links.chunks.keys).union(links.labels.keys).union(links.directories.keys)
    for record in objects {
      let relationships = try model.entity(of: record).relationships
      for (property, head) in record.heads where head.isChunked {
        let list = SecondLinks.List(owner: record.id, property: property)
        unused.remove(list)
        guard let relationship = relationships[property] else { continue }
        try checkForm(list, head, isOrdered: relationship.isOrdered)
      }
      for (property, ids) in record.inline {
        guard relationships[property]?.isOrdered == false else { continue }
        guard ids == Set(ids).sorted() else { throw SecondError("an unordered list is not sorted") }
      }
    }
    let referrers = try self.referrers()
    for (list, ids) in referrers {
      unused.remove(list)
      guard links.members(list) == ids.sorted() else { throw SecondError("a list of referrers is not right") }
      try checkForm(list, SecondListHead(UInt64(ids.count) | 1 << 48), isOrdered: false)
    }
    guard unused.isEmpty else { throw SecondError("\(unused.count) lists belong to nobody") }
  }

  private func checkForm(_ list: SecondLinks.List, _ head: SecondListHead, isOrdered: Bool) throws {
    let chunks = links.chunks[list] ?? []
    let ids = chunks.flatMap(\.ids)
    guard ids.count == head.count, Set(ids).count == ids.count, head.count >= 1 else {
      throw SecondError("a list's head has a wrong count")
    }
    if !isOrdered {
      guard ids == ids.sorted(), chunks.allSatisfy({ $0.position == $0.ids.first }) else {
        throw SecondError("an unordered list's chunks are not in order")
      }
    }
    var labels: [UInt64: UInt64] = [:]
    for chunk in chunks { for id in chunk.ids { labels[id] = chunk.position } }
    guard links.labels[list] == (head.hasMemberIndex ? labels : nil), isOrdered || !head.hasMemberIndex else {
      throw SecondError("a list's member index is not right")
    }
    let pages = links.directories[list] ?? []
    guard head.hasDirectory != pages.isEmpty, isOrdered || pages.isEmpty else {
      throw SecondError("a list's directory is not right")
    }
    if head.hasDirectory {
      let entries = pages.flatMap(\.chunks)
      guard entries.map(\.label) == chunks.map(\.position), entries.map({ Int($0.members) }) == chunks.map(\.ids.count),
        pages.allSatisfy({ $0.position == $0.chunks.first?.label })
      else { throw SecondError("a list's directory does not list its chunks") }
    }
  }

  /// Returns the objects that refer to an object by a relationship without an inverse, from the hidden lists in the
  /// links table.
  private func referrers() throws -> [SecondLinks.List: Set<UInt64>] {
    var referrers: [SecondLinks.List: Set<UInt64>] = [:]
    try forEachLink { record, entity, relationship, target in
      guard let property = entity.referrers[relationship.name] else { return }
      referrers[SecondLinks.List(owner: target, property: property), default: []].insert(record.id)
    }
    return referrers
  }

  /// Checks that every link has its inverse, and leads to an object of the right entity.
  private func checkLinks() throws {
    struct Link: Hashable {
      let from: UInt64, code: UInt16, to: UInt64
    }
    var entities: [UInt64: SecondEntity] = [:]
    for record in objects { entities[record.id] = try model.entity(of: record) }
    var links: Set<Link> = []
    var sides: Set<Link> = []
    try forEachLink { record, entity, relationship, target in
      guard let other = entities[target], other.lineage.contains(relationship.destination) else {
        throw SecondError("a link leads to no object of its destination")
      }
      guard let code = entity.codes[relationship.name],
        links.insert(Link(from: record.id, code: code, to: target)).inserted
      else { throw SecondError("a list has a member twice") }
      guard entity.referrers[relationship.name] == nil else { return }
      guard let inverse = relationship.inverse.flatMap({ other.codes[$0] }) else {
        throw SecondError("a relationship has neither an inverse nor hidden lists")
      }
      sides.insert(Link(from: target, code: inverse, to: record.id))
    }
    guard sides.isSubset(of: links) else { throw SecondError("a link has no other side") }
  }

  private func forEachLink(_ body: (SecondRecord, SecondEntity, SecondRelationship, UInt64) throws -> Void) throws {
    for record in objects {
      let entity = try model.entity(of: record)
      for (code, relationship) in entity.relationships {
        if let target = record.toOne[code] { try body(record, entity, relationship, target) }
        for target in try members(record, code) { try body(record, entity, relationship, target) }
      }
    }
  }

  /// Checks that blobs are complete, that their reference counts are correct, and that every chunk has a blob.
  private func checkBlobs() throws {
    var counts: [UInt64: UInt64] = [:]
    for record in objects {
      for case .blob(let name) in record.values.values {
        counts[name.serial, default: 0] += 1
        guard try blob(name.serial).count == name.bytes else { throw SecondError("a field has a blob's length wrong") }
      }
    }
    var described: Set<UInt64> = []
    for entry in try file.entries("blobinfo") {
      let info = try SecondBlob(entry.payload)
      let serial = secondNumber(entry.key[...])
      described.insert(serial)
      if countedBlobs?.contains(serial) ?? true {
        guard info.count == counts[serial] ?? 0, info.state == 1 || info.count > 0 else {
          throw SecondError("a blob's count is not right")
        }
      }
      let staged = counters["staged-" + String(format: "%016lx", serial)]
      guard staged == (info.state == 1 ? UInt64(info.stager) : nil) else { throw SecondError("an upload has no name") }
    }
    // A branch shares the chunks of its store.
    if countedBlobs != nil { return }
    described.formUnion(try blobsDescribedElsewhere())
    for entry in try file.entries("blobs") where !described.contains(secondNumber(entry.key[..<8])) {
      throw SecondError("a chunk has no blob")
    }
  }
}
