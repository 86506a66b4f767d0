import Foundation
import KVCloneTestSupport
import Testing

@testable import KVCloneLMDB

/// A directory for one test, removed with the object.
final class TemporaryStore {
  let root: String
  let path: String

  init() throws {
    root = NSTemporaryDirectory() + "/kvclone-lmdb-" + UUID().uuidString
    try FileSystem.createDirectory(root)
    path = root + "/store"
  }

  var data: String { path + "/data.mdb" }

  func create(_ tables: [String] = ["a"], _ options: LMDBOptions = LMDBOptions()) throws -> LMDBEnvironment {
    try LMDBEnvironment.create(at: path, tables: tables, options: options)
  }

  /// A closed store with one entry.
  func prepare() throws {
    let environment = try create()
    let table = try environment.table(named: "a")
    var transaction = try environment.beginWrite()
    try transaction.put(table, "key", "value")
    try transaction.commit()
    environment.close()
  }

  func open(_ options: LMDBOptions = LMDBOptions()) throws(LMDBError) -> LMDBEnvironment {
    try LMDBEnvironment.open(at: path, options: options)
  }

  /// Overwrites bytes of `data.mdb`.
  func patch(at offset: UInt64, _ bytes: [UInt8]) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: data))
    try file.seek(toOffset: offset)
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  func truncate(to length: UInt64) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: data))
    try file.truncate(atOffset: length)
    try file.close()
  }

  func setMode(_ mode: Int, _ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: root)
  }
}

extension LMDBWriteTransaction {
  mutating func put(_ table: LMDBTable, _ key: String, _ value: String) throws(LMDBError) {
    let key = Array(key.utf8)
    let value = Array(value.utf8)
    try put(table, key.span.bytes, value.span.bytes)
  }

  mutating func append(_ table: LMDBTable, _ key: String, _ value: String) throws(LMDBError) {
    let key = Array(key.utf8)
    let value = Array(value.utf8)
    try append(table, key.span.bytes, value.span.bytes)
  }

  mutating func delete(_ table: LMDBTable, _ key: String) throws(LMDBError) -> Bool {
    let key = Array(key.utf8)
    return try delete(table, key.span.bytes)
  }

  func text(_ table: LMDBTable, _ key: String) throws(LMDBError) -> String? {
    try pointers.bytes(table, Array(key.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension LMDBReadTransaction {
  func text(_ table: LMDBTable, _ key: String) throws(LMDBError) -> String? {
    try bytes(table, Array(key.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }

  func seekText(_ table: LMDBTable, _ key: String, _ position: StorageSeek) throws(LMDBError) -> String? {
    guard let entry = try pointers.entry(table, Array(key.utf8), position) else { return nil }
    return String(decoding: entry.key + "=".utf8 + entry.value, as: UTF8.self)
  }

  func byteCount(_ table: LMDBTable, _ key: UInt8) throws(LMDBError) -> Int? {
    try bytes(table, [key])?.count
  }

  func keys(_ table: LMDBTable, from start: String? = nil) throws(LMDBError) -> [String] {
    var keys: [String] = []
    if let start {
      let start = Array(start.utf8)
      try scan(table, from: start.span.bytes) { key, _ in
        keys.append(textOf(key))
        return true
      }
    } else {
      try scan(table) { key, _ in
        keys.append(textOf(key))
        return true
      }
    }
    return keys
  }
}

/// A closure cannot consume a captured value, so `#expect(throws:)` cannot commit.
func commitError(_ transaction: consuming LMDBWriteTransaction) -> LMDBError? {
  do throws(LMDBError) {
    try transaction.commit()
    return nil
  } catch {
    return error
  }
}

func textOf(_ span: RawSpan) -> String {
  span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
}

/// SplitMix64: small, seedable, the same on every machine.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// A read transaction that a test ends at any time by releasing it.
final class PinnedReader {
  private let transaction: LMDBReadTransaction

  init(_ environment: LMDBEnvironment) throws(LMDBError) {
    transaction = try environment.beginRead()
  }

  func keys(_ table: LMDBTable) throws(LMDBError) -> [String] {
    try transaction.keys(table)
  }

  func byteCount(_ table: LMDBTable, _ key: UInt8) throws(LMDBError) -> Int? {
    try transaction.byteCount(table, key)
  }
}
