import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Stores written by Core Data: every value and link is compared with the result of SQLite.
@Suite("import of Core Data's stores: corpus", .enabled(if: Corpus.root != nil, "\(Corpus.missing)"))
struct CoreDataCorpusTests {
  private static let energy = "artsy__energy/ArtsyFolio Tests__Migrations__ArtsyPartner_1.4.sqlite"
  private static let care =
    "carekit-apple__CareKit/CareKitStore__CareKitStoreTests__CoreDataSchema__Migrations__SampleStore2.0.sqlite"
  private static let cars =
    "alemar11__CoreDataPlus/Tests__Resources__SampleModel__Fixtures__SampleModel_V1.sqlite"

  private static let proxies = "property-proxies.sqlite"
  private static let swiftData = "swiftdata.store"

  /// Returns the path of a store of the corpus, or of a case from the field.
  private func path(_ name: String) throws -> String {
    if !name.contains("/") { return try #require(Corpus.field(name)) }
    return try #require(Corpus.root) + "/stores/" + name
  }

  /// Imports a store, passes it to `body`, checks and closes it.
  private func imported(
    _ name: String, model: ManagedObjectModel? = nil, skip: Bool = false,
    _ body: (ObjectStore, CoreDataImportReport) throws -> Void
  ) throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    var options = CoreDataImportOptions()
    options.model = model
    options.skipsBroken = skip
    let report = try ObjectStore.importCoreData(from: try path(name), to: root + "/store", options: options)
    let store = try ObjectStore.open(at: root + "/store")
    defer { store.close() }
    try checked(store)
    #expect(try store.info().counts.filter { $0.value > 0 } == report.counts)
    try compare(store, name)
    try body(store, report)
  }

  // MARK: Values

  /// Prints the contents of a store as read by SQLite: a line for each value and link that is not NULL, with its
  /// object, its column's name without the Z, and the value's bytes. Only the column names of join tables are parsed.
  private static let script = #"""
    import pathlib, re, sqlite3, struct, sys
    db = sqlite3.connect(pathlib.Path(sys.argv[1]).absolute().as_uri() + '?mode=ro&immutable=1', uri=True)
    names = dict(db.execute('select Z_ENT, Z_NAME from Z_PRIMARYKEY'))
    def shown(v):
        if isinstance(v, int) and abs(v) > 1 << 53: return f'i{v}'
        if isinstance(v, (int, float)): return 'n' + struct.pack('>d', v).hex()
        return 's' + v.encode().hex() if isinstance(v, str) else 'b' + v.hex()
    lines = []
    for (table,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
        rows = db.execute(f'select * from {table}')
        columns = [c[0] for c in rows.description]
        for row in rows:
            if 'Z_ENT' in columns and table != 'Z_PRIMARYKEY':
                owner = f"{names[row[columns.index('Z_ENT')]]}/{row[columns.index('Z_PK')]}"
                for column, v in zip(columns, row):
                    if re.match('Z[A-Z]', column) and v is not None: lines.append(f'{owner} {column[1:]} {shown(v)}')
            elif re.match('Z_[0-9]', table):
                (one, a), (two, b) = [re.match('Z_([0-9]+)(.*?)[0-9]*$', c).groups() for c in columns]
                lines.append(f'{names[int(two)]}/{row[1]} {a} {shown(row[0])}')
                lines.append(f'{names[int(one)]}/{row[0]} {b} {shown(row[1])}')
    with open(sys.argv[2], 'w') as out: out.write('\n'.join(sorted(lines)))
    """#

  /// SHA-256 of the script's output for each store, from SQLite 3.40.1, to compare the values without Python.
  private static let digests: [String: String] = [
    Self.cars: "c928a88c4b2048a78e7d880c89351af09613a82335a52ab4ebdd1602285fdf20",
    Self.energy: "e5674a454604da9346e889012dfb1fb1ce0fc83b2217f8e19fcf9002a56bbb3f",
    Self.care: "8858ad1458ff8c1093c3609f971664f3498c53ba2add26c21bace17697819434",
  ]

  private func compare(_ store: ObjectStore, _ name: String) throws {
    let lines = try Self.lines(of: store)
    if let digest = Self.digests[name] {
      #expect(SHA256.hash(Array(lines.joined(separator: "\n").utf8)).hex == digest, "\(name)")
    }
    guard Python.hasSQLite else { return }
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    try Data(Self.script.utf8).write(to: URL(fileURLWithPath: root + "/read.py"))
    #expect(try Python.run([root + "/read.py", try path(name), root + "/lines"]) == 0)
    let wanted = try String(contentsOfFile: root + "/lines", encoding: .utf8).split(separator: "\n").map(String.init)
    let known = Self.known(wanted, store.model)
    let (missing, surplus) = (Set(known).subtracting(lines), Set(lines).subtracting(known))
    #expect(missing.isEmpty, "\(name): \(missing.sorted().prefix(5))")
    #expect(surplus.isEmpty, "\(name): \(surplus.sorted().prefix(5))")
  }

  /// Returns the lines of an object's own properties. One table has the columns of all entities of a hierarchy, and
  /// rows may have values in those of other entities; if several entities use one property name, the columns are
  /// numbered.
  private static func known(_ lines: [String], _ model: ManagedObjectModel) -> [String] {
    var names: [String: Set<String>] = [:]
    for entity in model.entities {
      names[entity.name] = Set(
        (model.attributes(of: entity.name).map(\.name) + model.relationships(of: entity.name).map(\.name))
          .map { $0.uppercased() })
    }
    return lines.compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
      guard parts.count == 3, let own = names[String(parts[0].prefix { $0 != "/" })] else { return line }
      if own.contains(parts[1]) { return line }
      let name = String(parts[1].reversed().drop { $0.isNumber }.reversed())
      if own.contains(name) { return "\(parts[0]) \(name) \(parts[2])" }
      return names.values.contains { $0.contains(parts[1]) || $0.contains(name) } ? nil : line
    }
  }

  /// Returns the same lines from an imported store.
  private static func lines(of store: ObjectStore) throws -> [String] {
    var lines: [String] = []
    let model = store.model
    for entity in model.entities where !entity.isAbstract {
      var request = FetchRequest(entity.name)
      request.includesSubentities = false
      let names = try store.read { transaction in
        var names: [String] = []
        for object in try transaction.fetch(request) { names.append(try transaction.name(of: object.id)) }
        return names
      }
      let attributes = model.attributes(of: entity.name).filter { !$0.isTransient && !$0.isDerived }.map(\.name)
      // One-to-many links are stored in the column of the inverse.
      let relationships = model.relationships(of: entity.name).filter { relationship in
        guard relationship.isToMany, !relationship.isTransient else { return !relationship.isTransient }
        return model.inverse(of: relationship.name, in: entity.name)?.relationship.isToMany ?? true
      }
      for name in names {
        for (attribute, value) in zip(attributes, try store.values(name, attributes)) {
          if let value { lines.append("\(name) \(attribute.uppercased()) \(try shown(value, name, attribute))") }
        }
        for relationship in relationships {
          for member in try store.members(name, relationship.name) {
            let key = Double(member.drop { $0 != "/" }.dropFirst()) ?? -1
            lines.append("\(name) \(relationship.name.uppercased()) \(shown(key))")
          }
        }
      }
    }
    return lines.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  private static func shown(_ number: Double) -> String {
    "n" + hex(withUnsafeBytes(of: number.bitPattern.bigEndian, Array.init))
  }

  private static func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  private static func shown(_ value: AttributeValue, _ object: String, _ attribute: String) throws -> String {
    switch value {
    case .integer(let number): number.magnitude > 1 << 53 ? "i\(number)" : shown(Double(number))
    case .boolean(let flag): shown(flag ? 1 : 0)
    case .double(let number): shown(number)
    case .float(let number): shown(Double(number))
    case .date(let date): shown(date.timeIntervalSinceReferenceDate)
    // In Core Data's spelling.
    case .decimal(let number) where number.isNaN: "s" + hex("NaN".utf8)
    case .decimal(let number): shown(try #require(Double("\(number)")))
    case .string(let text), .uri(let text): "s" + hex(text.utf8)
    case .uuid(let uuid): "b" + hex(withUnsafeBytes(of: uuid.uuid, Array.init))
    case .binary(let data), .transformable(let data): "b" + hex(data)
    default: "nothing that SQLite has: \(object) \(attribute)"
    }
  }

  // MARK: Stores

  @Test("of the time before iOS 10, with property proxies in its model", .enabled(if: Python.hasSQLite))
  func proxies() throws {
    try imported(Self.proxies) { store, report in
      #expect(report.isStoredModel && report.skippedCount == 0 && report.linkCount == 5)
      #expect(
        report.counts == ["Conversation": 2, "AssetClientMessage": 1, "ImageMessage": 1, "TextMessage": 1, "User": 1])
      let model = store.model
      // Declared by Message, and inherited.
      #expect(model.attribute("hiddenInConversation", of: "AssetClientMessage") == nil)
      #expect(
        model.relationship("hiddenInConversation", of: "AssetClientMessage")?.destinationEntityName == "Conversation")
      for entity in model.entities {
        let above = model.superentities(of: entity.name).flatMap { model.entity(named: $0)?.attributes ?? [] }
        #expect(Set(above.map(\.name)).isDisjoint(with: entity.attributes.map(\.name)), "\(entity.name)")
      }
    }
  }

  @Test("of SwiftData", .enabled(if: Python.hasSQLite))
  func swiftData() throws {
    try imported(Self.swiftData) { store, report in
      #expect(report.isStoredModel && report.skippedCount == 0 && report.conversionCount == 0)
      #expect(report.counts == ["Component": 1, "CraftingRecipe": 2, "Item": 4] && report.linkCount == 4)
      #expect(report.omissions.map(\.name) == ["CHANGE", "TRANSACTION", "TRANSACTIONSTRING"])
      #expect(store.model.entity(named: "Item")?.uniquenessConstraints == [["name"]])
      #expect(store.model.attribute("id", of: "Component")?.type == .uuid)
    }
  }

  @Test("with the model that the store holds")
  func care() throws {
    try imported(Self.care) { store, report in
      #expect(
        report.counts == [
          "OCKCDContact": 2, "OCKCDOutcome": 3, "OCKCDOutcomeValue": 3, "OCKCDPersonName": 2, "OCKCDPostalAddress": 2,
          "OCKCDScheduleElement": 4, "OCKCDTask": 3,
        ])
      #expect(report.isStoredModel && report.skippedCount == 0 && report.omissions.isEmpty)
      let back = try store.read { transaction in
        let contact = try transaction.objectID(named: "OCKCDContact/1")
        guard let name = try transaction.toOne(contact, "name") else { return "" }
        guard let back = try transaction.toOne(name, "contact") else { return "" }
        return try transaction.name(of: back)
      }
      #expect(back == "OCKCDContact/1")
    }
  }

  @Test("inheritance, UUIDs, transformables and uniqueness; the stored model is the one in Xcode's files")
  func cars() throws {
    try imported(Self.cars) { store, report in
      #expect(report.counts.values.reduce(0, +) == 145 && report.counts["Person"] == 20)
      let people = try store.read { try $0.fetch(FetchRequest("Person")) }
      #expect(people.count == 20)
      let bundle = try #require(Corpus.modelBundle("alemar11__CoreDataPlus/SampleModel.xcdatamodeld"))
      let file = try ManagedObjectModel.load(contentsOf: bundle, version: "SampleModel").model
      // The store does not contain indexes, but all properties.
      let difference = ModelDifference(from: store.model, to: file)
      #expect(difference.refusals.isEmpty, "\(difference.changes)")
      #expect(store.model.entities.map(\.name).sorted() == file.entities.map(\.name).sorted())
      for entity in file.entities {
        #expect(
          store.model.attributes(of: entity.name).map { "\($0.name) \($0.type) \($0.isOptional)" }.sorted()
            == file.attributes(of: entity.name).map { "\($0.name) \($0.type) \($0.isOptional)" }.sorted())
        #expect(store.model.entity(named: entity.name)?.superentityName == entity.superentityName)
      }
    }
  }

  @Test("a store without a model, of which one is given; its name holds a space")
  func energy() throws {
    #expect { try imported(Self.energy) { _, _ in } } throws: { ($0 as? CoreDataImportError)?.kind == .modelMissing }
    let versions = Corpus.modelBundles().filter { $0.contains("artsy__energy") }
      .flatMap { (try? ManagedObjectModel.loadVersions(contentsOf: $0)) ?? [] }
    var fitting: [CoreDataImportReport] = []
    for version in versions {
      do {
        try imported(Self.energy, model: version.model, skip: true) { _, report in fitting.append(report) }
      } catch let error as CoreDataImportError {
        #expect(error.kind == .modelMismatch, "\(error)")
      }
    }
    let report = try #require(fitting.first, "no version of the model fits")
    #expect(report.counts["User"] == 108 && report.counts["Artwork"] == 68 && report.counts["Image"] == 76)
    #expect(report.skippedCount == 0, "\(report.skipped.prefix(3))")
  }
}
