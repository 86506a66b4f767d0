import Foundation
import KVCloneModel
import KVCloneRecords
import KVCloneTestSupport

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Complete stores: the target changes the stored data directly, and then performs all operations.
let storeTargets: [FuzzTarget] = [
  FuzzTarget(name: "store-values", seeds: [[], Array(0...40)], run: storeValues),
  FuzzTarget(name: "store-model", seeds: [TemplateStore.shared.document], run: storeModel),
  FuzzTarget(name: "file-pages", seeds: [[], [3, 0, 16, 2, 0, 0]], run: filePages),
]

private let model = ManagedObjectModel("Fuzz") {
  EntityDescription("Thing", abstract: true) {
    AttributeDescription("title", .string)
    RelationshipDescription("related", toMany: "Thing")
  }
  EntityDescription("Folder", parent: "Thing", unique: [["code"]]) {
    AttributeDescription("code", .string)
    RelationshipDescription("items", toMany: "Item", inverse: "folder", deleteRule: .cascade)
    RelationshipDescription("sorted", toMany: "Item", inverse: "sortedIn", ordered: true)
  }
  EntityDescription("Item", parent: "Thing", unique: [["folder", "number"]]) {
    AttributeDescription("number", .decimal)
    AttributeDescription("due", .date)
    AttributeDescription("photo", .binary)
    AttributeDescription("key", .uuid, userInfo: ["rebuild": "uuid"])
    RelationshipDescription("folder", toOne: "Folder", inverse: "items")
    RelationshipDescription("sortedIn", toMany: "Folder", inverse: "sorted")
    RelationshipDescription("favorite", toOne: "Item")
  }
}

/// A path in memory if the machine has one, because every input writes files.
private let storePath: String = {
  let isShared = FileManager.default.isWritableFile(atPath: "/dev/shm")
  return (isShared ? "/dev/shm" : NSTemporaryDirectory()) + "/kvclone-fuzz-\(getpid()).kvclone"
}()

/// An intact store with every kind of data, created once.
final class TemplateStore: Sendable {
  static let shared = TemplateStore()

  let engine = MemoryStorage()
  let sound: MemoryStorage.Snapshot
  let tables: [StorageTable]
  /// The stored encoding of the model.
  let document: [UInt8]
  /// The same store as a file, and the directory for changed files.
  let file: [UInt8]
  let path: String

  private init() {
    do {
      let catalog = try StoreCatalog(new: model)
      tables = try engine.openTables(catalog.tableCodes, create: true)
      engine.tamper(tables[0]) { metadata in
        for entry in (try? catalog.entries(uuid: UUID(), created: .distantPast)) ?? [] {
          metadata.append(MemoryEntry(key: entry.key, value: entry.value))
        }
        metadata.sort { $0.key.lexicographicallyPrecedes($1.key) }
      }
      let store = try StoreOpening.assemble(engine, path: "memory", model: nil, options: StoreOptions())
      try Self.fill(store)
      store.close()
      engine.reopen()
      sound = engine.snapshot()
      let key = MetadataKey.bytes(MetadataKey.model(1))
      document = Array(engine.entries(tables[0]).first { $0.key == key }?.value.dropFirst(8) ?? [])
      path = storePath
      atexit { try? FileManager.default.removeItem(atPath: storePath) }
      let onDisk = try ObjectStore.create(at: path, model: model)
      try Self.fill(onDisk)
      onDisk.close()
      file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + "/data.mdb")))
    } catch {
      preconditionFailure("the template cannot be made: \(error)")
    }
  }

  /// Replaces the contents of the file on disk.
  func write(_ bytes: [UInt8]) {
    guard let handle = FileHandle(forWritingAtPath: path + "/data.mdb") else { preconditionFailure("no file") }
    do {
      try handle.write(contentsOf: bytes)
      try handle.truncate(atOffset: UInt64(bytes.count))
      try handle.close()
    } catch {
      preconditionFailure("the file cannot be written")
    }
  }

  private static func fill(_ store: ObjectStore) throws {
    try store.write { tx in
      let folders = [try tx.insert("Folder", ["code": "A"]), try tx.insert("Folder", ["title": "two"])]
      var items: [ObjectID] = []
      for number in 0..<20 {
        items.append(
          try tx.insert(
            "Item", ["number": .decimal(Decimal(number)), "key": .uuid(UUID()), "due": .date(Date())],
            relationships: ["folder": [folders[0]], "favorite": items.suffix(1)]))
      }
      try tx.setMembers(folders[0], "sorted", items.reversed())
      try tx.setMembers(folders[1], "sorted", Array(items.prefix(5)))
      try tx.setMembers(items[2], "related", [folders[0], items[0], items[2]])
      try tx.set(items[0], "photo", .binary(Data(repeating: 7, count: 5000)))
    }
  }
}

/// Reads all data of a store. It must succeed or throw for any contents.
///
/// - Returns: the error if the store cannot be read.
@discardableResult
private func readAll(_ store: ObjectStore) -> (any Error)? {
  do {
    _ = try store.dump { _ in }
    return nil
  } catch {
    return error
  }
}

private func firstObjects(of entity: String, _ transaction: borrowing ReadTransaction) throws -> [ObjectID] {
  var ids: [ObjectID] = []
  try transaction.forEachObject(of: entity, includesSubentities: false) { object in
    ids.append(object.id)
    return ids.count < 3
  }
  return ids
}

private let copying: CloneOptions = {
  var options = CloneOptions()
  options.blobs = .copy
  return options
}()

private func useAll(_ store: ObjectStore, isClean: Bool) {
  if let error = readAll(store), isClean {
    fail("check finds nothing in a store that cannot be read: \(error)")
  }
  let entities = store.model.entities.filter { !$0.isAbstract }.map(\.name)
  for name in entities {
    let ids = (try? store.read { tx in try firstObjects(of: name, tx) }) ?? []
    for id in ids.prefix(1) {
      _ = try? store.planClone([id])
      _ = try? store.clone([id])
      _ = try? store.clone([id], options: copying)
    }
    for id in ids { _ = try? store.write { tx in try tx.delete([id]).deletedCount } }
    _ = try? store.write { tx in try tx.insert(name) }
  }
  readAll(store)
}

/// Opens a store with the contents of the engine, and performs all operations.
private func useStore(_ engine: MemoryStorage) {
  engine.reopen()
  guard let store = try? StoreOpening.assemble(engine, path: "memory", model: nil, options: StoreOptions()) else {
    return
  }
  defer { store.close() }
  let report = try? store.check(CheckOptions(readData: true))
  useAll(store, isClean: report?.isClean ?? false)
}

/// Changes, truncates or moves values, with valid checksums, so that the store has values that no intact store has.
@Sendable private func storeValues(_ bytes: UnsafeRawBufferPointer) {
  let template = TemplateStore.shared
  template.engine.restore(template.sound)
  var input = FuzzInput(bytes)
  while !input.isAtEnd {
    let table = template.tables[Int(input.byte()) % template.tables.count]
    let (index, what, place) = (Int(input.byte()), input.byte(), Int(input.byte()))
    let patch = input.bytes(atMost: Int(what >> 2) % 9)
    template.engine.tamper(table) { entries in
      guard !entries.isEmpty else { return }
      let entry = index % entries.count
      var value = entries[entry].value
      switch what & 3 {
      case 0, 1:
        for (offset, byte) in patch.enumerated() where value.count > 8 {
          value[8 + (place + offset) % (value.count - 8)] = byte
        }
      case 2: value.removeLast(min(max(0, value.count - 8), 1 + place % 16))
      default: value = entries[place % entries.count].value
      }
      let key = entries[entry].key
      if table.code == .metadata, key == MetadataKey.bytes(MetadataKey.format) {
        value = FormatRecord.sealed(Array(value.dropFirst(8)))
      } else if value.count >= 8 {
        let seed = ValueEnvelope.seed(tableCode: table.code, key: key)
        value.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: seed) }
      }
      entries[entry].value = value
    }
  }
  useStore(template.engine)
}

/// Replaces the stored encoding of the model.
@Sendable private func storeModel(_ bytes: UnsafeRawBufferPointer) {
  let template = TemplateStore.shared
  template.engine.restore(template.sound)
  let key = MetadataKey.bytes(MetadataKey.model(1))
  template.engine.tamper(template.tables[0]) { entries in
    guard let entry = entries.firstIndex(where: { $0.key == key }) else { return }
    entries[entry].value = BytesValue(Array(bytes)).encoded(
      seed: ValueEnvelope.seed(tableCode: .metadata, key: key))
  }
  useStore(template.engine)
}

/// Patches pages of the file: page, offset u16, length, bytes. A check must not crash, and LMDB must be able to open
/// and read a file without issues.
@Sendable private func filePages(_ bytes: UnsafeRawBufferPointer) {
  let template = TemplateStore.shared
  var input = FuzzInput(bytes)
  var file = template.file
  while !input.isAtEnd {
    let page = Int(input.byte()) % (file.count / 4096)
    let offset = (Int(input.byte()) << 8 | Int(input.byte())) % 4096
    let length = Int(input.byte()) % 9
    if length == 0 {
      // Replaces the page with a copy of another one.
      let other = Int(input.byte()) % (file.count / 4096)
      file.replaceSubrange(page * 4096..<page * 4096 + 4096, with: file[other * 4096..<other * 4096 + 4096])
      continue
    }
    for (index, byte) in input.bytes(atMost: length).enumerated() where page * 4096 + offset + index < file.count {
      file[page * 4096 + offset + index] = byte
    }
  }
  template.write(file)
  guard let report = try? ObjectStore.check(at: template.path, options: CheckOptions(readData: true)), report.isClean
  else { return }
  var options = StoreOptions()
  options.isReadOnly = true
  guard let store = try? ObjectStore.open(at: template.path, options: options) else {
    preconditionFailure("check finds nothing in a store that cannot be opened")
  }
  defer { store.close() }
  if let error = readAll(store) {
    fail("check finds nothing in a store that cannot be read: \(error)")
  }
}
