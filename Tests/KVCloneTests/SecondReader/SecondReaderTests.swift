import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// A model of each bundle, and a seed for it; with `KVCLONE_SEEDS`, that many versions of each.
private let corpusModels: [(file: CloneCorpusTests.File, seed: UInt64)] = {
  let bundles = Dictionary(grouping: CloneCorpusTests.files, by: \.bundle).sorted { $0.key < $1.key }
  return bundles.enumerated().flatMap { index, bundle in
    bundle.value.suffix(Int(CloneCorpusTests.seeds)).map { ($0, UInt64(index + 1)) }
  }
}()

/// A reader that was written from `Format.md` and shares no code with this package (the other files of this folder
/// import Foundation alone) reads the same contents from a file as the store, and confirms the statements of
/// `Format.md`.
@Suite("Format.md is enough to write a second implementation from", .needsDataFile(.bytes))
struct SecondReaderTests {
  @Test(
    "models of the corpus, after loading, cloning, deleting",
    .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)), arguments: corpusModels)
  func corpus(file: CloneCorpusTests.File, seed: UInt64) throws {
    let model = try ManagedObjectModel.load(contentsOf: file.bundle, version: file.version).model
    let test = try TestStore(model)
    let made = GraphGenerator.generate(ModelView(model), seed: seed, size: 5)
    var text = Array(try made.ndjson(model: ModelView(model)).utf8)[...]
    _ = try test.store.load { buffer in
      defer { text = text.dropFirst(10_000) }
      buffer.append(contentsOf: text.prefix(10_000))
      return !text.isEmpty
    }
    let ids = try model.entities.filter { !$0.isAbstract }.flatMap { try test.store.objects($0.name) }
    // Rules of the model may forbid either; successful changes are in the file anyway.
    for id in ids.prefix(3) { _ = try? test.store.clone([id], options: CloneOptions()) }
    for id in ids.suffix(2) { _ = try? test.store.delete([id]) }
    try agree(test, "seed \(seed)")
  }

  @Test("lists of every form and length, edited", arguments: 1...CloneCorpusTests.seeds)
  func lists(seed: UInt64) throws {
    let test = try TestStore(Self.listModel)
    var random = SeededGenerator(seed: seed)
    let owners = try test.store.insert("Owner", count: 8)
    let items = try test.store.insert("Item", count: 6_000)
    for (owner, length) in zip(owners, [0, 8, 16, 17, 128, 200, 2_000, 6_000]) {
      try test.store.write { tx in
        try tx.setMembers(owner, "bag", Array(items.shuffled(using: &random).prefix(length)))
        try tx.setMembers(owner, "list", Array(items.shuffled(using: &random).prefix(length)))
        try tx.setMembers(owner, "loose", Array(items.shuffled(using: &random).prefix(length)))
        try tx.setMembers(owner, "looseList", Array(items.shuffled(using: &random).prefix(length)))
        try tx.setToOne(owner, "one", items[length / 7])
      }
    }
    try agree(test, "fresh, seed \(seed)")
    for (index, owner) in owners.enumerated() {
      try test.store.write { tx in
        for relationship in ["bag", "list", "loose", "looseList"] {
          let isOrdered = relationship.hasSuffix("ist")
          for round in 0..<40 {
            let members = try tx.count(owner, relationship)
            let item = items[random.below(items.count)]
            if round % 2 == 0 {
              try tx.unlink(owner, relationship, [item])
            } else if try !tx.members(owner, relationship).contains(item) {
              // Sometimes always at one position, so that chunks and labels are split.
              let place = round % 3 == 0 ? members / 2 : random.below(members + 1)
              try tx.link(owner, relationship, [item], at: isOrdered ? place : nil)
            }
          }
        }
        if index == 5 { try tx.unlink(owner, "list", Array(try tx.members(owner, "list").prefix(190))) }
        if index == 7 { try tx.unlink(owner, "looseList", Array(try tx.members(owner, "looseList").prefix(5_600))) }
      }
    }
    try agree(test, "edited, seed \(seed)")
    var options = CloneOptions()
    options.recordsProvenance = true
    options.idempotencyKey = "Schlüssel \(seed)"
    options.idempotencyExpiresAt = Date(timeIntervalSinceNow: 1e6)
    let clones = try test.store.clone([owners[5], owners[6]], options: options)
    try test.store.delete([owners[4], items[3], items[77], clones.roots[1]])
    try agree(test, "cloned and deleted, seed \(seed)")
  }

  @Test("values of every type, at their edges, and a model adopted twice")
  func values() throws {
    let test = try TestStore(Self.valueModel)
    for round in 0..<Self.values.values.reduce(0, { max($0, $1.count) }) {
      try test.store.write { tx in
        var attributes: [String: AttributeValue?] = ["serial": .integer(Int64(round))]
        for (name, values) in Self.values where round < values.count { attributes[name] = values[round] }
        let id = try tx.insert(round % 3 == 0 ? "Sub" : "Thing", attributes)
        if round % 2 == 0 { try tx.setToOne(id, "unique", id) }
      }
    }
    let things = try test.store.objects("Thing")
    var options = CloneOptions()
    options.excludedRelationshipNames = ["unique"]
    _ = try? test.store.clone([things[0]], options: options)
    try agree(test, "values")
    for version in 1...2 {
      var entities = Self.valueModel.entities
      entities[0].userInfo["adopted"] = "\(version)"
      let model = ManagedObjectModel(name: "Values", entities: entities, composites: Self.valueModel.composites)
      try test.reopen(model: model)
      try test.store.insert(
        "Thing", ["string": .string("after \(version)"), "serial": .integer(Int64(1000 + version))])
      let second = try agree(test, "adopted \(version)", model: model)
      #expect(second.counters["catalog"] == UInt64(version + 1))
    }
  }

  @Test("blobs: of one chunk, of several, empty, shared by a clone, deleted")
  func blobs() throws {
    let test = try TestStore(Self.blobModel)
    var random = SeededGenerator(seed: 5)
    let lengths = [0, 1, 1_024, 1_025, 70_000, SecondBlob.chunk, SecondBlob.chunk + 1, 2 * SecondBlob.chunk + 12_345]
    var ids: [ObjectID] = []
    for length in lengths {
      var data = Data(count: length)
      for index in stride(from: 0, to: length, by: 1 + length / 300) { data[index] = UInt8(random.below(256)) }
      ids.append(
        try test.store.insert("Image", ["data": .binary(data), "archive": .transformable(data.prefix(3_000))]))
    }
    _ = try test.store.clone([ids[4], ids[5]], options: CloneOptions())
    try test.store.delete([ids[3], ids[5]])
    try test.store.set(ids[6], "data", nil)
    let second = try agree(test, "blobs")
    #expect(try second.file.entries("blobs").count == 9)
    let upload = try test.store.stageBlob { writer in
      try writer.append(Data(repeating: 3, count: SecondBlob.chunk + 5))
    }
    let pending = try agree(test, "a pending blob")
    #expect(try pending.file.entries("blobs").count == 11)
    #expect(pending.counters.keys.filter { $0.hasPrefix("staged-") }.count == 1)
    withExtendedLifetime(upload) {}
  }

  @Test("a damaged byte in any value is found by its checksum")
  func damage() throws {
    let test = try TestStore(Self.valueModel)
    try test.store.insert("Thing", ["string": "x", "serial": 3, "binary": .binary(Data(repeating: 7, count: 1_500))])
    test.store.close()
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: test.path + "/data.mdb")))
    let file = try SecondFile(bytes)
    #expect(file.tables.count == 12)
    var count = 0
    for (name, entries) in file.tables {
      for entry in entries {
        var value = Array(bytes[entry.range])
        #expect(try SecondFile.payload(of: value[...], key: entry.key, table: name) == entry.payload)
        for index in value.indices {
          value[index] ^= 1 << UInt8(index % 8)
          #expect(throws: SecondError.self, "\(name), byte \(index)") {
            try SecondFile.payload(of: value[...], key: entry.key, table: name)
          }
          value[index] ^= 1 << UInt8(index % 8)
          count += 1
        }
        // The library checks one value in each round, because it opens the file each time.
        var damaged = bytes
        damaged[entry.range.upperBound - 1] ^= 1
        #expect(throws: SecondError.self) { try SecondFile(damaged) }
        try Data(damaged).write(to: URL(fileURLWithPath: test.path + "/data.mdb"))
        #expect(isDamageFound(at: test.path), "\(name)")
      }
    }
    #expect(count > 3_000)
    try Data(bytes).write(to: URL(fileURLWithPath: test.path + "/data.mdb"))
    try agree(test, "restored")
  }

  private func isDamageFound(at path: String) -> Bool {
    do {
      let store = try ObjectStore.open(at: path)
      defer { store.close() }
      return try !store.check(CheckOptions(readData: true)).issues.isEmpty
    } catch {
      return true
    }
  }

  /// Compares the second reader's text with the store's own, checks the statements of `Format.md`, and returns the
  /// second reader's store.
  @discardableResult
  private func agree(
    _ test: TestStore, _ what: String, model: ManagedObjectModel? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> SecondStore {
    if (try? test.store.info()) == nil { try test.reopen(model: model) }
    var bytes: [UInt8] = []
    _ = try test.store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    let commit = try test.store.info().commit
    // Not read beside an open store, because closing the file would release LMDB's locks.
    test.store.close()
    let second = try SecondStore(path: test.path)
    do {
      try second.check()
    } catch {
      Issue.record("\(what): \(error)", sourceLocation: sourceLocation)
    }
    #expect(second.commit == commit, "\(what)", sourceLocation: sourceLocation)
    let newline = try #require(bytes.firstIndex(of: 0x0A))
    let header = String(decoding: bytes[..<newline], as: UTF8.self)
      .replacing(#/"modelHash":"[0-9a-f]{64}",/#, with: "")
    #expect(header == second.header, "\(what)", sourceLocation: sourceLocation)
    let mine = Array(try second.dump().utf8)
    if mine != Array(bytes[(newline + 1)...]) {
      let lines = String(decoding: bytes[(newline + 1)...], as: UTF8.self).split(separator: "\n")
      let first = zip(lines, String(decoding: mine, as: UTF8.self).split(separator: "\n")).first { $0 != $1 }
      Issue.record("\(what): \(first?.0.prefix(300) ?? "") is read as \(first?.1.prefix(300) ?? "")")
    }
    try test.reopen(model: model)
    return second
  }
}
