import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// The differences of a branch from its base and from its store, against a comparison of all objects.
@Suite(.bounded) struct BranchComparisonTests {
  /// The stored values and members of every object.
  private typealias Content = [ObjectID: [String]]

  private static func content(_ transaction: borrowing ReadTransaction) throws -> Content {
    var content: Content = [:]
    for entity in ["Book", "Page", "Tag"] {
      for object in try transaction.fetch(FetchRequest(entity)) {
        var values: [String] = []
        for attribute in object.model.attributes(of: entity) {
          let value = try object.value(attribute.name)
          var text = value.map { "\($0)" } ?? "nil"
          if case .blob? = value {
            // Equal bytes can have several serials.
            text = ""
            _ = try transaction.readData(object.id, attribute.name) { part in
              text += part.withUnsafeBytes { "\($0.count) \($0[0]) " }
            }
          }
          values.append("\(attribute.name) \(text)")
        }
        for relationship in object.model.relationships(of: entity) {
          let members = try transaction.members(object.id, relationship.name)
          let ids = relationship.isOrdered ? members : members.sorted()
          values.append("\(relationship.name) \(ids.map(\.rawValue))")
        }
        content[object.id] = values
      }
    }
    return content
  }

  private static func expected(from old: Content, to new: Content) -> [ObjectID: SnapshotDifference.Kind] {
    var kinds: [ObjectID: SnapshotDifference.Kind] = [:]
    for id in Set(old.keys).union(new.keys) where old[id] != new[id] {
      kinds[id] = old[id] == nil ? .inserted : new[id] == nil ? .deleted : .updated
    }
    return kinds
  }

  private static func change(_ store: ObjectStore, _ random: inout SeededGenerator) throws {
    var generator = random
    defer { random = generator }
    try store.write { tx in
      let (books, pages) = (try tx.fetch(FetchRequest("Book")), try tx.fetch(FetchRequest("Page")))
      let tags = try tx.fetch(FetchRequest("Tag"))
      for _ in 0..<(1 + generator.below(6)) {
        guard let book = books.isEmpty ? nil : books[generator.below(books.count)].id, try tx.exists(book) else {
          continue
        }
        switch generator.below(8) {
        case 0: try tx.insert("Book", ["title": .string("new \(generator.below(1000))")])
        case 1: try tx.set(book, "title", .string("title \(generator.below(3))"))
        case 2: try tx.insert("Page", ["text": .string("new")], relationships: ["book": [book]])
        case 3:
          if let page = pages.isEmpty ? nil : pages[generator.below(pages.count)].id, try tx.exists(page) {
            try tx.delete(page)
          }
        case 4: try tx.setMembers(book, "pages", try tx.members(book, "pages").shuffled(using: &generator))
        case 5:
          let chosen = tags.filter { _ in generator.chance(in: 2) }.map(\.id)
          try tx.setMembers(book, "tags", try chosen.filter { try tx.exists($0) })
        case 6: try tx.set(book, "cover", .binary(Data(repeating: UInt8(generator.below(2)), count: 5_000)))
        default:
          // Only a part of a long list.
          var members = try tx.members(book, "pages")
          if members.count > 2 {
            members.swapAt(0, members.count - 1)
            try tx.setMembers(book, "pages", members)
          }
        }
      }
      if generator.chance(in: 5), let book = books.last?.id, try tx.exists(book) { try tx.delete(book) }
    }
  }

  @Test("the differences equal those of all objects", arguments: 0..<12)
  func random(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let files = try TestStore(snapshotModel)
    let store = files.store
    try store.write { tx in
      for _ in 0..<3 { try tx.insert("Tag", ["name": .string("tag")]) }
      for number in 0..<4 {
        let book = try tx.insert("Book", ["number": .integer(Int64(number))])
        // A list in several chunks.
        for _ in 0..<(number == 0 ? 700 : 5) { try tx.insert("Page", [:], relationships: ["book": [book]]) }
      }
    }
    let branch = try store.branches.create("branch")
    let comparison = try #require(BranchComparison(branch))
    let base = try comparison.base().read(Self.content)
    #expect(BranchComparison(store) == nil)
    for _ in 0..<6 {
      try Self.change(random.chance(in: 2) ? store : branch, &random)
      if random.chance(in: 8) { try branch.createSnapshot(named: "snapshot-\(random.below(1_000_000))") }
      let present = try branch.read(Self.content)
      for (origin, old) in [(BranchComparison.Origin.base, base), (.store, try store.read(Self.content))] {
        var found: [SnapshotDifference] = []
        try comparison.forEach(from: origin) {
          found.append($0)
          return true
        }
        let kinds = Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0.kind) })
        #expect(kinds == Self.expected(from: old, to: present), "seed \(seed), \(origin)")
        #expect(found.map(\.id) == found.map(\.id).sorted())
        for difference in found {
          #expect(try comparison.difference(of: difference.id, from: origin) == difference, "seed \(seed)")
        }
        guard let middle = found.dropFirst(found.count / 2).first else { continue }
        var rest: [SnapshotDifference] = []
        try comparison.forEach(from: origin, after: middle.id) {
          rest.append($0)
          return true
        }
        #expect(rest == Array(found.dropFirst(found.count / 2 + 1)))
      }
    }
    try checked(store)
  }

  @Test("a comparison that is cancelled throws, and one of a deleted branch names it")
  func errors() throws {
    let files = try TestStore(snapshotModel)
    let branch = try files.store.branches.create("branch")
    try branch.write { tx in try tx.insert("Tag", ["name": .string("new")]) }
    let comparison = try #require(BranchComparison(branch))
    #expect(throws: StoreError.self) {
      try comparison.forEach(from: .store, isCancelled: { true }) { _ in true }
    }
    try files.store.branches.delete("branch")
    for origin in [BranchComparison.Origin.base, .store] {
      let error = #expect(throws: StoreError.self) { try comparison.forEach(from: origin) { _ in true } }
      #expect(error?.kind == .branchNotFound && error?.message.contains("branch") == true)
    }
  }
}
